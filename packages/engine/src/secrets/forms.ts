/** Fewer characters of base64 than this could be anything. */
const LEAST_BASE64 = 6;

/** Every spelling in which a value may turn up in text: as it is, in JSON, in URLs, and as base64 on its own or inside more. */
export function formsOf(value: string): Set<string> {
  const forms = new Set([value, inJson(value), inJson(inJson(value))]);
  for (const form of urlForms(value.toWellFormed()))
    forms.add(form).add(form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()));
  for (const form of base64Forms(Buffer.from(value, 'utf8'))) {
    if (form.length >= LEAST_BASE64) forms.add(form).add(form.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function urlForms(text: string): string[] {
  return [encodeURIComponent(text), encodeURI(text), new URLSearchParams([['', text]]).toString().slice(1)];
}

/**
 * The base64 of the bytes standing alone, and the part of it that stays the same wherever in other bytes they stand:
 * there are three alignments, and the characters at both ends also depend on the neighbours.
 */
function base64Forms(bytes: Buffer): string[] {
  const cores = [0, 1, 2].map((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return shifted.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
  return [bytes.toString('base64').replace(/=+$/, ''), ...cores];
}
