// Draws the curves of a figure so that they can be hovered, zoomed (drag; double click resets) and toggled (legend),
// once a reader opens them below the picture. The picture holds more (bands, marks, markers), so it always stays.
(function () {
  'use strict';
  if (typeof uPlot !== 'function') { return; }
  function time(us) {
    if (us == null || !isFinite(us)) { return ''; }
    var scale = us >= 1e6 ? [1e6, ' s'] : us >= 1e3 ? [1e3, ' ms'] : [1, ' us'];
    return String(Number((us / scale[0]).toPrecision(3))) + scale[1];
  }
  function count(value) { return value == null ? '' : Number(value.toPrecision(4)).toLocaleString('en').replace(/,/g, ' '); }
  function percentile(x) { return x == null ? '' : String(Number((100 * (1 - 1 / x)).toPrecision(7))) + ' %'; }
  var write = { latency: time, percentile: percentile, number: count };
  function show(card, chart) {
    var place = document.createElement('div');
    place.className = 'live';
    card.appendChild(place);
    function wide() { return Math.max(320, card.clientWidth - 28); }
    var xs = Array.from(new Set([].concat.apply([], chart.series.map(function (line) { return line.x; })))).sort(function (a, b) { return a - b; });
    var at = new Map(xs.map(function (x, index) { return [x, index]; }));
    var data = [xs].concat(chart.series.map(function (line) {
      var ys = new Array(xs.length).fill(undefined);
      line.x.forEach(function (x, index) { ys[at.get(x)] = line.y[index]; });
      return ys;
    }));
    function axis(which) {
      var unit = write[chart[which + '_unit']] || count;
      return { label: chart[which + '_label'], labelSize: 20, size: which === 'y' ? 70 : 42, font: '11px sans-serif',
        labelFont: '11px sans-serif', grid: { stroke: '#e4e7eb' },
        values: function (_, splits) { return splits.map(function (v) { return v == null ? null : unit(v); }); } };
    }
    // points at the edge would be cut in half, so a linear axis goes a little further on both sides
    function around(_, low, high) { var spare = Math.max(0.03 * (high - low), 0.01 * Math.abs(high)); return [low - spare, high + spare]; }
    function scale(log, range) { return Object.assign({ time: false, distr: log ? 3 : 1, log: 10 }, log ? {} : range); }
    var plot = new uPlot({
      width: wide(), height: 340, title: chart.title, padding: [null, 34, null, null],
      scales: { x: scale(chart.x_log, { range: around }), y: scale(chart.y_log) }, axes: [axis('x'), axis('y')],
      cursor: { drag: { x: true, y: true, uni: 20 } },
      series: [{ label: chart.x_label, value: function (_, v) { return (write[chart.x_unit] || count)(v); } }].concat(
        chart.series.map(function (line) {
          return { label: line.label, stroke: line.colour, width: 1.6, dash: line.dash, spanGaps: true,
            points: { show: line.x.length < 3, size: 7, fill: line.colour }, value: function (_, v) { return (write[chart.y_unit] || count)(v); } };
        }))
    }, data, place);
    window.addEventListener('resize', function () { if (card.open) { plot.setSize({ width: wide(), height: 340 }); } });
  }
  document.querySelectorAll('[data-curves]').forEach(function (card) {
    card.hidden = false;
    card.addEventListener('toggle', function () {
      if (!card.open || card.querySelector('.live')) { return; }
      JSON.parse(card.getAttribute('data-curves')).forEach(function (chart) { show(card, chart); });
    });
  });
}());
