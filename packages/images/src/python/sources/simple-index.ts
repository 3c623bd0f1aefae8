import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import { fetchMetadata } from '../wheels/remote-metadata.ts';
import type { AvailableWheel, Project, Source } from './source.ts';
import { parseWheelName, type WheelName } from '../pep/wheel-name.ts';

/** A file on an index page of either format. */
interface ListedFile {
  readonly filename: string;
  readonly url: string;
  readonly hashes: Readonly<Record<string, unknown>>;
  readonly requiresPython: string;
  readonly size: number | undefined;
  readonly yanked: string | undefined;
  readonly metadata: AvailableWheel['metadata'];
}

const SDIST = /^(.+)-([^-]+)\.(?:tar\.gz|zip|tar\.bz2)$/;

/** Parses a project page of a simple index in JSON (PEP 691) or HTML (PEP 503); undefined if it is neither. */
function parseIndexPage(text: string, pageUrl: string): Project | undefined {
  const files = text.trimStart().startsWith('{') ? filesInJson(text, pageUrl) : filesInHtml(text, pageUrl);
  if (!files) return undefined;
  const wheels: AvailableWheel[] = [];
  const sourceVersions = new Set<string>();
  for (const file of files) {
    const wheel = parseWheelName(file.filename);
    if (wheel) wheels.push(toAvailableWheel(file, wheel));
    else sourceVersions.add(SDIST.exec(file.filename)?.[2] ?? '');
  }
  for (const { wheel } of wheels) sourceVersions.delete(wheel.version);
  sourceVersions.delete('');
  return { wheels, sourceOnlyVersions: [...sourceVersions] };
}

function toAvailableWheel(file: ListedFile, wheel: WheelName): AvailableWheel {
  const { filename, url, requiresPython, size, yanked, metadata } = file;
  const digest = digestOf(file.hashes);
  return { source: 'index', filename, wheel, location: url, digest, size, requiresPython, yanked, metadata };
}

/** Returns the best digest that the store can verify. */
function digestOf(hashes: Readonly<Record<string, unknown>>): string | undefined {
  const algorithmName = ['sha256', 'sha512'].find((algorithm) => typeof hashes[algorithm] === 'string');
  return algorithmName === undefined
    ? undefined
    : `${algorithmName}:${String(hashes[algorithmName]).toLowerCase()}`;
}

function filesInJson(text: string, pageUrl: string): ListedFile[] | undefined {
  const page = parseJson(text);
  const files = isRecord(page) ? page['files'] : undefined;
  if (!Array.isArray(files)) return undefined;
  return files.filter(isRecord).flatMap((file) => {
    const { filename, size, yanked } = file;
    const url = absoluteUrl(file['url'], pageUrl);
    if (typeof filename !== 'string' || url === undefined) return [];
    return {
      filename,
      url,
      hashes: isRecord(file['hashes']) ? file['hashes'] : {},
      requiresPython: stringOrEmpty(file['requires-python']),
      size: typeof size === 'number' ? size : undefined,
      yanked: yanked === true ? '' : yanked === false ? undefined : stringOrUndefined(yanked),
      metadata: parseMetadataField(file['core-metadata'] ?? file['data-dist-info-metadata']),
    };
  });
}

function parseMetadataField(value: unknown): AvailableWheel['metadata'] {
  if (value === true) return { digest: undefined };
  return isRecord(value) ? { digest: digestOf(value) } : undefined;
}

const ANCHOR = /<a\b([^>]*)>([^<]*)<\/a\s*>/gi;
const ATTRIBUTE = /([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/gi;

/** Reads the files of an HTML page. PEP 503 defines pages as flat lists of anchors, so no HTML parser is needed. */
function filesInHtml(text: string, pageUrl: string): ListedFile[] | undefined {
  if (!/<(?:!doctype html|html|body|a)\b/i.test(text)) return undefined;
  const baseHref = attributesOf(/<base\b([^>]*)>/i.exec(text)?.[1] ?? '').get('href');
  const baseUrl = absoluteUrl(baseHref ?? '', pageUrl) ?? pageUrl;
  return [...text.matchAll(ANCHOR)].flatMap(([, attributeText = '', label = '']) => {
    const attributes = attributesOf(attributeText);
    const url = absoluteUrl(attributes.get('href'), baseUrl);
    if (url === undefined) return [];
    const metadataHash = attributes.get('data-core-metadata') ?? attributes.get('data-dist-info-metadata');
    return {
      filename: decodeEntities(label).trim(),
      url: url.split('#', 1)[0] ?? url,
      hashes: hashesOf(url.split('#')[1] ?? ''),
      requiresPython: attributes.get('data-requires-python') ?? '',
      size: undefined,
      yanked: attributes.get('data-yanked'),
      metadata: parseMetadataField(
        metadataHash === 'true' ? true : metadataHash === undefined ? undefined : hashesOf(metadataHash),
      ),
    };
  });
}

function attributesOf(text: string): Map<string, string> {
  const pairs = [...text.matchAll(ATTRIBUTE)].map(
    ([, name = '', doubleQuoted, singleQuoted, unquoted]) =>
      [name.toLowerCase(), decodeEntities(doubleQuoted ?? singleQuoted ?? unquoted ?? '')] as const,
  );
  return new Map(pairs);
}

/** Parses `sha256=<hex>` from a URL fragment. */
function hashesOf(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (entity, decimal, hex, name) => {
    const codePoint = decimal ? Number(decimal) : hex ? Number.parseInt(String(hex), 16) : undefined;
    if (codePoint !== undefined) return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : entity;
    return ENTITIES[String(name).toLowerCase()] ?? entity;
  });
}

/** Resolves a URL relative to the page; undefined unless it is http or https. */
function absoluteUrl(value: unknown, baseUrl: string): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value, baseUrl)) return undefined;
  const url = new URL(value, baseUrl);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined;
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function stringOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const ACCEPT =
  'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';

/** Maximum size of a project page. A project with 15,000 files has a page of 7 MB. */
const MAX_PAGE_BYTES = 64 * 2 ** 20;

/** Returns a simple index (PEP 503, 691) as a source. `url` is the parent of the project pages. */
export function createIndexSource(url: string, context: BuildContext): Source {
  const rootUrl = url.endsWith('/') ? url : `${url}/`;
  return {
    kind: 'index',
    find: (name) => find(name, rootUrl, context),
    metadataOf: (availableWheel: AvailableWheel) => fetchMetadata(availableWheel, context),
  };
}

async function find(name: string, rootUrl: string, context: BuildContext): Promise<Project | undefined> {
  context.log(`Looking up ${name}`);
  const page = await context.fetchPage(`${rootUrl}${name}/`, {
    maxBytes: MAX_PAGE_BYTES,
    headers: { accept: ACCEPT },
  });
  if (page.status === 404 || page.status === 410) return undefined;
  const project =
    page.status === 200 ? parseIndexPage(new TextDecoder().decode(page.body), page.url) : undefined;
  if (project) return project;
  const { host } = new URL(rootUrl);
  const reason =
    page.status === 200 ? 'with something that is not an index page' : `with status ${page.status}`;
  throw new ImageError('registry_unavailable', `The Python index ${host} responded ${reason} for ${name}.`);
}
