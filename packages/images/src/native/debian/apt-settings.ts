import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianKeyring, type DebianSettings } from './archives.ts';
import { paragraphsOf, readParagraph } from './control.ts';

/** A suite of a mirror in apt's sources. */
interface AptSource {
  readonly url: string;
  readonly suite: string;
  readonly keyring: string | undefined;
  /** True if apt accepts expired release files for it. */
  readonly isSnapshot: boolean;
}

const wordsOf = (text = ''): string[] => text.split(/\s+/).filter((word) => word !== '');

/** Parses a `*.sources` file of apt. */
function parseSources(text: string): AptSource[] {
  return paragraphsOf(text).flatMap((paragraph) => {
    const fields = readParagraph(paragraph);
    if (!wordsOf(fields.get('types')).includes('deb') || fields.get('enabled') === 'no') return [];
    const signedBy = fields.get('signed-by');
    const keyring = signedBy?.startsWith('/') === true ? signedBy : debianKeyring();
    const isSnapshot = fields.get('check-valid-until') === 'no';
    return wordsOf(fields.get('uris')).flatMap((url) =>
      wordsOf(fields.get('suites')).map((suite) => ({ url, suite, keyring, isSnapshot })),
    );
  });
}

/** Parses a `*.list` file of apt. */
function parseList(text: string): AptSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s/.exec(line);
    if (match === null) return [];
    const [, options = '', url = '', suite = ''] = match;
    const keyring = /\bsigned-by=(\/\S+)/.exec(options)?.[1] ?? debianKeyring();
    const isSnapshot = /\bcheck-valid-until=no\b/.test(options);
    return [{ url, suite, keyring, isSnapshot }];
  });
}

function sourcesIn(folder: string): AptSource[] {
  const listFolder = join(folder, 'sources.list.d');
  const names = existsSync(listFolder) ? readdirSync(listFolder).sort() : [];
  const files = [join(folder, 'sources.list'), ...names.map((name) => join(listFolder, name))];
  return files.flatMap((file) => {
    if (!existsSync(file)) return [];
    if (file.endsWith('.sources')) return parseSources(readFileSync(file, 'utf8'));
    return file.endsWith('.list') ? parseList(readFileSync(file, 'utf8')) : [];
  });
}

/** Returns the Debian archive that this host itself uses; undefined if there is none. */
export function readAptSettings(folder = '/etc/apt'): DebianSettings | undefined {
  const sources = sourcesIn(folder).filter(({ url }) => /^https?:\/\//.test(url));
  const mainSource = sources.find(({ url, suite }) => /\/debian\/?$/.test(url) && /^[a-z]+$/.test(suite));
  if (mainSource === undefined) return undefined;
  const securitySource = sources.find(({ suite }) => suite === `${mainSource.suite}-security`);
  return {
    mirror: mainSource.url,
    suite: mainSource.suite,
    ...(securitySource !== undefined && { security: securitySource.url }),
    ...(mainSource.isSnapshot && { snapshot: true }),
    ...(mainSource.keyring !== undefined &&
      existsSync(mainSource.keyring) && { keyring: mainSource.keyring }),
  };
}
