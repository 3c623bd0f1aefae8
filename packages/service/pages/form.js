import { byId, filesOf, post, readRun, valueOf, whileWorking } from './shared.js';

const form = byId('form');
const result = byId('result');

async function send(signal) {
  const controls = [...form.querySelectorAll('[data-type]')];
  const input = [];
  const files = [];
  for (const control of controls) {
    if (control.type === 'file') files.push([control.name, await filesOf(control)]);
    else input.push([control.name, valueOf(control)]);
  }
  const body = {
    input: Object.fromEntries(input.filter(([, value]) => value !== undefined)),
    files: Object.fromEntries(files.filter(([, chosenFiles]) => chosenFiles.length > 0)),
  };
  const response = await post(location.pathname, body, signal);
  const text = document.createElement('p');
  result.replaceChildren(text);
  result.hidden = false;
  await readRun(response, (next) => (text.textContent = next));
  result.focus();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  result.hidden = true;
  void whileWorking(form, send);
});
