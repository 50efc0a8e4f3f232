// Runs inside the sandboxed frame of one flame graph. The graph measures its canvas when its script runs, so that waits
// until the frame is seen; and a sandbox has no prompt(), so the search has a field of its own.
(function () {
  'use strict';
  var field = document.getElementById('lab-q');
  var started = false;

  function press(key) {
    if (window.onkeydown) {
      window.onkeydown({ key: key, ctrlKey: false, metaKey: false, shiftKey: false, preventDefault: function () {} });
    }
  }

  function find() {
    if (typeof window.search !== 'function') { return; }
    try {
      window.search(field.value || false);
      field.removeAttribute('aria-invalid');
    } catch (notRegular) {
      field.setAttribute('aria-invalid', 'true');
    }
  }

  function start() {
    if (started) { return; }
    started = true;
    document.querySelectorAll('script[type="text/x-later"]').forEach(function (waiting) {
      var script = document.createElement('script');
      script.textContent = waiting.textContent;
      waiting.replaceWith(script);
    });
    if (typeof window.search === 'function') {
      var own = window.search;
      window.search = function (pattern) {
        if (pattern === true) { field.focus(); field.select(); return undefined; }
        return own(pattern);
      };
    }
    var turn = document.getElementById('inverted');
    if (turn) { turn.click(); }
    document.documentElement.dataset.drawn = 'yes';
  }

  field.addEventListener('input', find);
  field.addEventListener('keydown', function (event) {
    if (event.key === 'Enter') { press('n'); }
    if (event.key === 'Escape') { field.value = ''; find(); }
    if (!event.ctrlKey && !event.metaKey) { event.stopPropagation(); }
  });
  document.getElementById('lab-reset').addEventListener('click', function () {
    field.value = '';
    press('0');
  });
  if (typeof IntersectionObserver === 'function') {
    new IntersectionObserver(function (seen, observer) {
      if (seen.some(function (entry) { return entry.isIntersecting; })) { observer.disconnect(); start(); }
    }).observe(document.body);
  } else {
    start();
  }
}());
