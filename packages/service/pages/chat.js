import { byId, filesOf, post, readRun, whileWorking } from './shared.js';

const [form, message, files, messages] = ['form', 'message', 'files', 'messages'].map((id) => byId(id));
/** Set by the server in the first response. */
let conversationId;

function add(kind, text) {
  const item = document.createElement('li');
  item.className = kind;
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  item.append(paragraph);
  messages.append(item);
  item.scrollIntoView({ block: 'end' });
  return (next) => {
    paragraph.textContent = next;
    item.scrollIntoView({ block: 'end' });
  };
}

async function send(signal) {
  const text = message.value.trim();
  if (text === '') throw new Error('Write a message first.');
  const attachments = await filesOf(files);
  const body = {
    message: text,
    ...(conversationId && { conversationId }),
    ...(attachments.length > 0 && { files: attachments }),
  };
  const response = await post(location.pathname, body, signal);
  conversationId = response.headers.get('X-Conversation-Id');
  add('question', [text, ...attachments.map(({ name }) => `📎 ${name}`)].join('\n'));
  form.reset();
  await readRun(response, add('answer', '…'));
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void whileWorking(form, send).then(() => message.focus());
});

message.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
