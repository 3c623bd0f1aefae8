/**
 * Shorter values are not redacted: they also occur in ordinary data, so their redaction would destroy outputs and hide
 * nothing.
 */
export const MIN_SECRET_CHARS = 4;

/** Shorter parts of a value also occur in ordinary data. */
const MIN_PART_CHARS = 8;

/** Shorter base64 text also occurs in ordinary data. */
const MIN_BASE64_CHARS = 6;

/** The first and last line of every PEM key. */
const PEM_BOUNDARY = /^-----(?:BEGIN|END) [A-Z0-9 ]+-----$/;

/**
 * Returns the parts of a value that are secret: the trimmed value, each line of a multi-line value, and each string in
 * a JSON value. Skips lines and strings of fewer than 8 characters.
 */
export function secretPartsOf(value: string): Set<string> {
  const parts = new Set<string>();
  for (const text of [value, ...stringsInJson(value)]) {
    const trimmedText = text.trim();
    const lines = trimmedText.split(/\r\n?|\n/);
    if (lines.length > 1) parts.add(lines.join('\n')).add(lines.join('\r\n'));
    else parts.add(trimmedText);
    for (const line of lines.length > 1 ? lines.map((rawLine) => rawLine.trim()) : [])
      if (line.length >= MIN_PART_CHARS && !PEM_BOUNDARY.test(line)) parts.add(line);
  }
  return parts;
}

/** Returns the strings in a value that is a JSON object or array. */
function stringsInJson(value: string): string[] {
  if (!/^\s*[[{]/.test(value)) return [];
  const strings: string[] = [];
  try {
    JSON.parse(value, (_key, item: unknown) => {
      if (typeof item === 'string' && item.trim().length >= MIN_PART_CHARS) strings.push(item);
      return item;
    });
  } catch {
    return [];
  }
  return strings;
}

/** Returns every form in which a text can occur in data: unchanged, in JSON, in URLs, and in base64. */
export function encodingsOf(text: string): Set<string> {
  const forms = new Set([text, escapeJson(text), escapeJson(escapeJson(text))]);
  for (const form of urlForms(text.toWellFormed()))
    forms.add(form).add(form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()));
  for (const form of hostForms(text)) forms.add(form);
  for (const form of base64Forms(Buffer.from(text, 'utf8'))) {
    if (form.length >= MIN_BASE64_CHARS) forms.add(form).add(form.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}

/** Returns the number that the text represents, as JSON may contain it; undefined if it is not a number. */
export function numberOf(text: string): number | undefined {
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) ? number : undefined;
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the text as encoded by JavaScript's functions and by the parts of a URL. */
function urlForms(text: string): string[] {
  if (/^[\w.~-]*$/.test(text)) return [];
  const url = new URL('http://host/');
  url.pathname = text;
  url.search = text;
  url.username = text;
  return [
    encodeURIComponent(text),
    encodeURI(text),
    new URLSearchParams([['', text]]).toString().slice(1),
    // A path loses its dot segments. A shorter result is not specific enough.
    ...[url.pathname, url.search].map((part) => part.slice(1)).filter((part) => part.length >= text.length),
    url.username,
  ];
}

/** Returns the text in lower case, and as a URL contains it if the text is a host or a whole URL. */
function hostForms(text: string): string[] {
  const hostUrl = URL.parse(`http://${text}/`);
  const isHost = hostUrl?.href === `http://${hostUrl?.host}/`;
  const url = URL.parse(text)?.href.replace(/\/$/, '');
  return [text.toLowerCase(), ...(isHost && hostUrl ? [hostUrl.host] : []), ...(url ? [url] : [])];
}

/**
 * Returns the base64 of the bytes, and the base64 characters that they produce inside longer data, for each of the
 * three alignments. Omits the characters at both ends, which also depend on the neighbouring bytes.
 */
function base64Forms(bytes: Buffer): string[] {
  const alignedForms = [0, 1, 2].map((offset) => {
    const shiftedBase64 = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return shiftedBase64.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
  return [bytes.toString('base64').replace(/=+$/, ''), ...alignedForms];
}
