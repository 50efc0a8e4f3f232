// Marks the section that is being read in the list of contents, and opens what a link points into.
(function () {
  'use strict';
  document.documentElement.classList.add('scripts');  // flame graphs are drawn; without scripts, their pictures stand
  var links = new Map();
  document.querySelectorAll('nav a').forEach(function (link) {
    var place = document.getElementById(link.hash.slice(1));
    if (place) { links.set(place, link); }
  });
  if (typeof IntersectionObserver === 'function') {
    var seen = new Set();
    var watch = new IntersectionObserver(function (changes) {
      changes.forEach(function (change) {
        if (change.isIntersecting) { seen.add(change.target); } else { seen.delete(change.target); }
      });
      var current = null;
      links.forEach(function (link, place) {
        link.removeAttribute('aria-current');
        if (seen.has(place)) { current = link; }
      });
      if (current) { current.setAttribute('aria-current', 'true'); }
    }, { rootMargin: '0px 0px -70% 0px' });
    links.forEach(function (link, place) { watch.observe(place); });
  }
  function open() {
    var place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place && place.tagName === 'DETAILS') { place.open = true; }
  }
  window.addEventListener('hashchange', open);
  open();
}());
