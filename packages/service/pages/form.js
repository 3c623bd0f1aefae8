import { byId, filesOf, post, readRun, whileWorking } from './shared.js';

const form = byId('form');
const result = byId('result');

/** Returns the value of a control; undefined if nothing was entered. Throws an Error for text that is no JSON. */
function valueOf(control) {
  const { type } = control.dataset;
  if (type === 'boolean' && control.type === 'checkbox') return control.checked;
  if (control.value === '') return undefined;
  if (type === 'number') return Number(control.value);
  if (type !== 'object' && type !== 'array') return control.value;
  try {
    return JSON.parse(control.value);
  } catch {
    control.focus();
    throw new Error(`${control.labels[0].textContent} must be JSON.`);
  }
}

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
    files: Object.fromEntries(files.filter(([, chosen]) => chosen.length > 0)),
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
