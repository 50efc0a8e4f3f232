// A JupyterLab extension in the form that its builder makes of one: the index is run when it is opened, so that its table
// is there. Every other notebook is run by its reader.
(function () {
  'use strict';
  const INDEX = 'notebooks/index.ipynb';
  let shared = {};

  async function extension() {
    const [{ get }] = Object.values(shared['@jupyterlab/notebook']);
    const { INotebookTracker, NotebookActions } = (await get())();

    async function run(panel) {
      await panel.context.ready;
      await panel.sessionContext.ready;
      if (panel.context.path === INDEX) {
        await NotebookActions.runAll(panel.content, panel.sessionContext);
      }
    }

    return {
      id: 'performance-lab:run-on-open',
      autoStart: true,
      requires: [INotebookTracker],
      activate: (app, tracker) => {
        tracker.forEach(run);
        tracker.widgetAdded.connect((_, panel) => run(panel));
      }
    };
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['performance-lab'] = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const plugin = await extension();
      return () => ({ __esModule: true, default: plugin });
    }
  };
}());
