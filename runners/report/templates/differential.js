// A differential flame graph: each row is [level, left, width, width in the other profile, name], in 1/100000 of the whole.
(function () {
  'use strict';
  var data = JSON.parse(document.getElementById('data').textContent);
  var graph = document.getElementById('graph');
  var told = document.getElementById('told');
  var field = document.getElementById('q');
  var ROW = 16;
  var boxes = [];
  var drawn = false;

  function percent(share) { return (share / 1000).toFixed(2) + ' %'; }

  // The change against the larger of both: red for more than in the other profile, blue for less, grey for the same.
  function colour(width, other) {
    var change = (width - other) / Math.max(width, other, 1);
    var light = Math.round(94 - 38 * Math.min(1, Math.abs(change)));
    if (Math.abs(change) < 0.03) { return '#e4e7eb'; }
    return change > 0 ? 'hsl(20,90%,' + light + '%)' : 'hsl(205,85%,' + light + '%)';
  }

  function say(row) {
    told.textContent = row ? data.names[row[4]] + ': ' + percent(row[2]) + ' here, ' + percent(row[3]) + ' there' : '';
  }

  function show(left, width) {
    boxes.forEach(function (box) {
      var row = box.row;
      var from = Math.max(row[1], left);
      var to = Math.min(row[1] + row[2], left + width);
      var share = (to - from) / width;
      box.style.display = share > 0.0008 ? '' : 'none';
      box.style.left = 100 * (from - left) / width + '%';
      box.style.width = 100 * share + '%';
      box.textContent = share > 0.02 ? data.names[row[4]] : '';
    });
  }

  function draw() {
    if (drawn) { return; }
    drawn = true;
    var deepest = 0;
    data.rows.forEach(function (row) {
      var box = document.createElement('div');
      box.row = row;
      box.style.top = row[0] * ROW + 'px';
      box.style.background = colour(row[2], row[3]);
      box.title = data.names[row[4]] + '\n' + percent(row[2]) + ' here, ' + percent(row[3]) + ' in the other profile';
      box.addEventListener('click', function () { show(row[1], row[2]); say(row); });
      box.addEventListener('mouseover', function () { say(row); });
      deepest = Math.max(deepest, row[0]);
      boxes.push(box);
      graph.appendChild(box);
    });
    graph.style.height = (deepest + 1) * ROW + 'px';
    show(0, 100000);
    document.documentElement.dataset.drawn = 'yes';
  }

  field.addEventListener('input', function () {
    var pattern = null;
    try {
      pattern = field.value ? new RegExp(field.value, 'i') : null;
      field.removeAttribute('aria-invalid');
    } catch (notRegular) {
      field.setAttribute('aria-invalid', 'true');
    }
    boxes.forEach(function (box) { box.classList.toggle('found', Boolean(pattern) && pattern.test(data.names[box.row[4]])); });
  });
  document.getElementById('reset').addEventListener('click', function () {
    field.value = '';
    field.dispatchEvent(new Event('input'));
    show(0, 100000);
    say(null);
  });
  if (typeof IntersectionObserver === 'function') {
    new IntersectionObserver(function (seen, observer) {
      if (seen.some(function (entry) { return entry.isIntersecting; })) { observer.disconnect(); draw(); }
    }).observe(document.body);
  } else {
    draw();
  }
}());
