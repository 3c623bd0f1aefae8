import type { FormField } from '../workflows/input-fields.ts';
import type { ChatRow } from './tables.ts';
import { outputSelectorsOf } from './views.ts';

type PageContent = Pick<ChatRow, 'title' | 'description' | 'welcome_message' | 'outputs'>;

const HTML_ENTITIES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Returns the string with the special characters of HTML escaped. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => HTML_ENTITIES[character] ?? character);
}

/** Returns the document of a page. `script`: the name of its script; undefined for a page without a script. */
export function documentOf(
  script: 'chat' | 'form' | 'password' | 'resume' | undefined,
  { title, description }: Pick<PageContent, 'title' | 'description'>,
  mainHtml: string,
): string {
  const descriptionHtml = description === null ? '' : `<p class="muted">${escapeHtml(description)}</p>`;
  const scriptTag = script === undefined ? '' : `<script type="module" src="assets/${script}.js"></script>\n`;
  const noscriptTag = script === undefined ? '' : '<noscript><p>This page needs JavaScript.</p></noscript>\n';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="assets/page.css">
${scriptTag}</head>
<body>
<main>
<header><h1>${escapeHtml(title)}</h1>${descriptionHtml}</header>
${mainHtml}
${noscriptTag}</main>
</body>
</html>
`;
}

/** Returns the attribute that tells the script that outputs are selected; empty if none are. */
function selectedAttribute(content: PageContent): string {
  return outputSelectorsOf(content).length > 0 ? ' data-selected' : '';
}

/** Returns the page of a chat. */
export function chatPage(content: PageContent, maxFiles: number): string {
  const { welcome_message: welcomeMessage } = content;
  const firstMessage =
    welcomeMessage === null ? '' : `<li class="answer"><p>${escapeHtml(welcomeMessage)}</p></li>`;
  return documentOf(
    'chat',
    content,
    `<div class="log" role="log" aria-label="Messages" tabindex="0"><ol id="messages">${firstMessage}</ol></div>
<p id="status" role="status"></p>
<form id="form"${selectedAttribute(content)}>
<label for="message">Message</label>
<textarea id="message" name="message" rows="3" maxlength="100000" required></textarea>
<label for="files">Files (at most ${maxFiles})</label>
<input id="files" name="files" type="file" multiple>
<div class="buttons"><button type="submit">Send</button><button type="button" id="stop" hidden>Stop</button></div>
</form>`,
  );
}

/** Returns the page of a form. */
export function formPage(content: PageContent, fields: readonly FormField[]): string {
  const { welcome_message: welcomeMessage } = content;
  const intro = welcomeMessage === null ? '' : `<p>${escapeHtml(welcomeMessage)}</p>`;
  return documentOf(
    'form',
    content,
    `${intro}<form id="form"${selectedAttribute(content)}>
${fields.map((field, index) => fieldHtml(field, `field-${index}`)).join('\n')}
<div class="buttons"><button type="submit">Send</button><button type="button" id="stop" hidden>Stop</button></div>
</form>
<p id="status" role="status"></p>
<section id="result" aria-label="Result" tabindex="-1" hidden></section>`,
  );
}

/** Returns the page that asks for the password of the other pages. */
export function passwordPage(content: PageContent): string {
  return documentOf(
    'password',
    { title: content.title, description: null },
    `<form id="form">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required autofocus>
<div class="buttons"><button type="submit">Continue</button></div>
</form>
<p id="status" role="status"></p>`,
  );
}

/** Returns the page for unknown URLs. */
export function notFoundPage(): string {
  const content = { title: 'Not found', description: null };
  return documentOf(undefined, content, '<p>There is no page at this address.</p>');
}

export function fieldHtml(field: FormField, id: string): string {
  const { name, type, description, label, isRequired } = field;
  const helpHtml =
    description === null ? '' : `<p class="help" id="${id}-help">${escapeHtml(description)}</p>`;
  const attributes = [
    `id="${id}"`,
    `name="${escapeHtml(name)}"`,
    `data-type="${escapeHtml(type)}"`,
    ...(helpHtml === '' ? [] : [`aria-describedby="${id}-help"`]),
    ...(isRequired && type !== 'boolean' ? ['required'] : []),
  ].join(' ');
  const labelHtml = `<label for="${id}">${escapeHtml(label)}${isRequired ? ' (required)' : ''}</label>`;
  return `<div class="field">${labelHtml}${helpHtml}${controlHtml(field, attributes)}</div>`;
}

function controlHtml({ type, placeholder, value, options }: FormField, attributes: string): string {
  const placeholderAttribute = placeholder === null ? '' : ` placeholder="${escapeHtml(placeholder)}"`;
  const valueText = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  if (options.length > 0) {
    const optionTags = options.map(
      (option) => `<option${option === valueText ? ' selected' : ''}>${escapeHtml(option)}</option>`,
    );
    return `<select ${attributes}><option value=""></option>${optionTags.join('')}</select>`;
  }
  switch (type) {
    case 'boolean':
      return `<input type="checkbox" ${attributes}${value === true || value === 'true' ? ' checked' : ''}>`;
    case 'number':
      return `<input type="number" step="any" ${attributes}${placeholderAttribute} value="${escapeHtml(valueText)}">`;
    case 'file[]':
      return `<input type="file" multiple ${attributes}>`;
    case 'object':
    case 'array':
      return `<textarea rows="5" spellcheck="false" ${attributes}${placeholderAttribute}>${escapeHtml(valueText)}</textarea>`;
    default:
      return `<textarea rows="2" ${attributes}${placeholderAttribute}>${escapeHtml(valueText)}</textarea>`;
  }
}
