import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import { remoteMetadata } from '../wheels/remote-metadata.ts';
import type { Offer, Project, Source } from './source.ts';
import { parseWheelName, type WheelName } from '../pep/wheel-name.ts';

/** A file on a page of an index, as either form of the page tells it. */
interface Listed {
  readonly filename: string;
  readonly url: string;
  readonly hashes: Readonly<Record<string, unknown>>;
  readonly requiresPython: string;
  readonly size: number | undefined;
  readonly yanked: string | undefined;
  readonly metadata: Offer['metadata'];
}

const SDIST = /^(.+)-([^-]+)\.(?:tar\.gz|zip|tar\.bz2)$/;

/**
 * The project on a page of a simple index, JSON (PEP 691) or HTML (PEP 503), whichever the index answered with; undefined
 * when it is neither.
 */
function parseIndexPage(text: string, pageUrl: string): Project | undefined {
  const listed = text.trimStart().startsWith('{') ? listedInJson(text, pageUrl) : listedInHtml(text, pageUrl);
  if (!listed) return undefined;
  const wheels: Offer[] = [];
  const sources = new Set<string>();
  for (const file of listed) {
    const wheel = parseWheelName(file.filename);
    if (wheel) wheels.push(offerOf(file, wheel));
    else sources.add(SDIST.exec(file.filename)?.[2] ?? '');
  }
  for (const { wheel } of wheels) sources.delete(wheel.version);
  sources.delete('');
  return { wheels, sourceOnly: [...sources] };
}

function offerOf(file: Listed, wheel: WheelName): Offer {
  const { filename, url, requiresPython, size, yanked, metadata } = file;
  const digest = digestOf(file.hashes);
  return { source: 'index', filename, wheel, location: url, digest, size, requiresPython, yanked, metadata };
}

/** The best digest that the store can verify. */
function digestOf(hashes: Readonly<Record<string, unknown>>): string | undefined {
  const name = ['sha256', 'sha512'].find((algorithm) => typeof hashes[algorithm] === 'string');
  return name === undefined ? undefined : `${name}:${String(hashes[name]).toLowerCase()}`;
}

function listedInJson(text: string, pageUrl: string): Listed[] | undefined {
  const page = parseJson(text);
  const files = isRecord(page) ? page['files'] : undefined;
  if (!Array.isArray(files)) return undefined;
  return files.filter(isRecord).flatMap((file) => {
    const { filename, size, yanked } = file;
    const url = absolute(file['url'], pageUrl);
    if (typeof filename !== 'string' || url === undefined) return [];
    return {
      filename,
      url,
      hashes: isRecord(file['hashes']) ? file['hashes'] : {},
      requiresPython: textOf(file['requires-python']),
      size: typeof size === 'number' ? size : undefined,
      yanked: yanked === true ? '' : yanked === false ? undefined : optionalText(yanked),
      metadata: metadataOf(file['core-metadata'] ?? file['data-dist-info-metadata']),
    };
  });
}

function metadataOf(value: unknown): Offer['metadata'] {
  if (value === true) return { digest: undefined };
  return isRecord(value) ? { digest: digestOf(value) } : undefined;
}

const ANCHOR = /<a\b([^>]*)>([^<]*)<\/a\s*>/gi;
const ATTRIBUTE = /([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/gi;

/** Simple pages are a flat list of anchors by their specification, so no parser of HTML is needed. */
function listedInHtml(text: string, pageUrl: string): Listed[] | undefined {
  if (!/<(?:!doctype html|html|body|a)\b/i.test(text)) return undefined;
  const base = attributesOf(/<base\b([^>]*)>/i.exec(text)?.[1] ?? '').get('href');
  const from = absolute(base ?? '', pageUrl) ?? pageUrl;
  return [...text.matchAll(ANCHOR)].flatMap(([, attributeText = '', label = '']) => {
    const attributes = attributesOf(attributeText);
    const url = absolute(attributes.get('href'), from);
    if (url === undefined) return [];
    const told = attributes.get('data-core-metadata') ?? attributes.get('data-dist-info-metadata');
    return {
      filename: decodeEntities(label).trim(),
      url: url.split('#', 1)[0] ?? url,
      hashes: hashesOf(url.split('#')[1] ?? ''),
      requiresPython: attributes.get('data-requires-python') ?? '',
      size: undefined,
      yanked: attributes.get('data-yanked'),
      metadata: metadataOf(told === 'true' ? true : told === undefined ? undefined : hashesOf(told)),
    };
  });
}

function attributesOf(text: string): Map<string, string> {
  const pairs = [...text.matchAll(ATTRIBUTE)].map(
    ([, name = '', double, single, bare]) =>
      [name.toLowerCase(), decodeEntities(double ?? single ?? bare ?? '')] as const,
  );
  return new Map(pairs);
}

/** `sha256=<hex>` as in the fragment of a URL. */
function hashesOf(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (whole, decimal, hex, name) => {
    const point = decimal ? Number(decimal) : hex ? Number.parseInt(String(hex), 16) : undefined;
    if (point !== undefined) return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    return ENTITIES[String(name).toLowerCase()] ?? whole;
  });
}

/** The URL against the page's, when it is one of http or https. */
function absolute(value: unknown, from: string): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value, from)) return undefined;
  const url = new URL(value, from);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function optionalText(value: unknown): string | undefined {
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

/** A project with fifteen thousand files has a page of seven megabytes. */
const MAX_PAGE_BYTES = 64 * 2 ** 20;

/** A simple index (PEP 503, 691), by the URL under which its projects are. */
export function simpleIndex(url: string, context: BuildContext): Source {
  const root = url.endsWith('/') ? url : `${url}/`;
  return {
    kind: 'index',
    find: (name) => find(name, root, context),
    metadataOf: (offer: Offer) => remoteMetadata(offer, context),
  };
}

async function find(name: string, root: string, context: BuildContext): Promise<Project | undefined> {
  context.log(`Looking up ${name}`);
  const page = await context.fetchPage(`${root}${name}/`, {
    maxBytes: MAX_PAGE_BYTES,
    headers: { accept: ACCEPT },
  });
  if (page.status === 404 || page.status === 410) return undefined;
  const project =
    page.status === 200 ? parseIndexPage(new TextDecoder().decode(page.body), page.url) : undefined;
  if (project) return project;
  const { host } = new URL(root);
  const reason =
    page.status === 200 ? 'with something else than a page of an index' : `with status ${page.status}`;
  throw new ImageError(
    'registry_unavailable',
    `The Python index ${host} answered ${reason} when asked for ${name}.`,
  );
}
