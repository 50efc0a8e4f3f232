// What the theme leaves out: a name of the search's dialog, and code that is wider than its box as a stop of the Tab key.
(function () {
  'use strict';
  function reachable() {
    document.querySelectorAll('.md-typeset pre').forEach(function (block) {
      block.tabIndex = block.scrollWidth > block.clientWidth ? 0 : -1;
    });
  }
  document.querySelector('.md-search').setAttribute('aria-label', 'Search');
  addEventListener('resize', reachable);
  reachable();
}());
