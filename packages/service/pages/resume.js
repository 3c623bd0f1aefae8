import { byId, post, valueOf, whileWorking } from './shared.js';

const form = byId('form');
const result = byId('result');

async function send(signal) {
  const controls = [...form.querySelectorAll('[data-type]')];
  const input = controls.map((control) => [control.name, valueOf(control)]);
  const enteredValues = Object.fromEntries(input.filter(([, value]) => value !== undefined));
  await post(location.pathname, { input: enteredValues }, signal);
  form.hidden = true;
  const text = document.createElement('p');
  text.textContent = 'Thank you. The answer was accepted.';
  result.replaceChildren(text);
  result.hidden = false;
  result.focus();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void whileWorking(form, send);
});
