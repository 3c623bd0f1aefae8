import { getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { OpenApiDocument } from './document.ts';
import { objectOrEmpty, trimmedTextOrEmpty } from './operations.ts';
import { digestOf } from './schemas.ts';

/** Options for converting the servers of a document to base URLs. */
export interface ServerOptions {
  /** The name of the service. */
  name: string;
  /** Values of variables in server URLs, such as `{ region: 'eu' }`. Default: the default values in the document. */
  variables?: { readonly [name: string]: string };
  /** The URL of the document, which relative URLs are resolved against. */
  documentUrl?: string;
}

/** A service whose base URL an operator can override. */
export interface ServiceDescription {
  /** The name for `--service NAME=URL`: `ServerOptions.name`, for further servers followed by their host and path. */
  name: string;
  title: string;
  /** The base URL. Undefined: unknown until an operator sets it. */
  baseUrl: string | undefined;
}

const MAX_VARIABLE_CHARS = 200;

/** Returns the service of an operation. `mainServer`: the first server of the document, or of its first operation. */
export function serviceOfServer(
  document: OpenApiDocument,
  { server, mainServer }: { server: JsonObject | undefined; mainServer: JsonObject | undefined },
  options: ServerOptions,
): ServiceDescription {
  const { root } = document;
  const title =
    trimmedTextOrEmpty(getOwn(objectOrEmpty(getOwn(root, 'info')), 'title')).slice(0, 200) || options.name;
  const baseUrl = baseUrlOf(server, options);
  if (server === undefined || server === mainServer || baseUrl === undefined)
    return { name: options.name, title, baseUrl: baseUrl ?? baseUrlOf(undefined, options) };
  const mainUrl = baseUrlOf(mainServer, options);
  if (mainUrl === baseUrl) return { name: options.name, title, baseUrl };
  const { host, pathname } = new URL(baseUrl);
  const location = `${host}${pathname}`.replaceAll(/[^A-Za-z0-9_.:/-]/g, '_').replace(/\/+$/, '');
  const name = `${options.name}:${location}`;
  return { name: name.length > 100 ? `${name.slice(0, 91)}_${digestOf(baseUrl)}` : name, title, baseUrl };
}

/** Returns the base URL with its variables filled in, without a / at its end; undefined if it is not an HTTP URL. */
function baseUrlOf(
  server: JsonObject | undefined,
  { variables = {}, documentUrl }: ServerOptions,
): string | undefined {
  const template = getOwn(server ?? {}, 'url');
  const declaredVariables = objectOrEmpty(getOwn(server ?? {}, 'variables'));
  const filledUrl = (typeof template === 'string' ? template.slice(0, 1000).trim() : '/').replaceAll(
    /\{([^{}]*)\}/g,
    (whole, name: string) => {
      const value = Object.hasOwn(variables, name)
        ? variables[name]
        : getOwn(objectOrEmpty(getOwn(declaredVariables, name)), 'default');
      return value === undefined || value === null || typeof value === 'object'
        ? whole
        : String(value).slice(0, MAX_VARIABLE_CHARS);
    },
  );
  if (/[{}]/.test(filledUrl) || !URL.canParse(filledUrl, documentUrl)) return undefined;
  const url = new URL(filledUrl, documentUrl);
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}
