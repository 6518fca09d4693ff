// Of a click. The key lies in the page, not in the document: see PageControls. The run
// that is acted on is the one that the question names, whatever is picked meanwhile.
const run = asked.data.run[0];
const question = asked.data[action][0];
if (!run || (question && !window.confirm(question))) return;
// without the time the same command once more would be no change of the data
commands.data = {action: [action], key: [window.dpbbKey || ""], run: [run],
  at: [Date.now()]};
