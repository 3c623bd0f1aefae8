import { own } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { OpenApiDocument } from './document.ts';
import { objectOf, textOf } from './operations.ts';
import { digestOf } from './schemas.ts';

/** Options for converting the servers of a document to addresses. */
export interface ServerOptions {
  name: string;
  /** Values of variables in addresses, such as `{ region: 'eu' }`. Default: the values in the document. */
  variables?: { readonly [name: string]: string };
  /** The address of the document: the base of relative addresses. */
  source?: string;
}

/** A service whose address an operator can replace. */
export interface Server {
  /** The name for `--service NAME=URL`: the name of the document, followed by host and path for another server. */
  name: string;
  title: string;
  /** Undefined: it is unknown until an operator gives one. */
  address: string | undefined;
}

const MAX_VARIABLE = 200;

/** Returns the first server of an operation. `usual` is the server of most operations. */
export function serverOf(
  document: OpenApiDocument,
  { server, usual }: { server: JsonObject | undefined; usual: JsonObject | undefined },
  options: ServerOptions,
): Server {
  const { root } = document;
  const title = textOf(own(objectOf(own(root, 'info')), 'title')).slice(0, 200) || options.name;
  const address = addressOf(server, options);
  if (server === undefined || server === usual || address === undefined)
    return { name: options.name, title, address: address ?? addressOf(undefined, options) };
  const main = addressOf(usual, options);
  if (main === address) return { name: options.name, title, address };
  const { host, pathname } = new URL(address);
  const where = `${host}${pathname}`.replaceAll(/[^A-Za-z0-9_.:/-]/g, '_').replace(/\/+$/, '');
  const name = `${options.name}:${where}`;
  return { name: name.length > 100 ? `${name.slice(0, 91)}_${digestOf(address)}` : name, title, address };
}

/** Returns the address with its variables filled in, without a / at its end. Undefined if it is not an address on the web. */
function addressOf(
  server: JsonObject | undefined,
  { variables = {}, source }: ServerOptions,
): string | undefined {
  const template = own(server ?? {}, 'url');
  const described = objectOf(own(server ?? {}, 'variables'));
  const filled = (typeof template === 'string' ? template.slice(0, 1000).trim() : '/').replaceAll(
    /\{([^{}]*)\}/g,
    (whole, name: string) => {
      const given = Object.hasOwn(variables, name)
        ? variables[name]
        : own(objectOf(own(described, name)), 'default');
      return given === undefined || given === null || typeof given === 'object'
        ? whole
        : String(given).slice(0, MAX_VARIABLE);
    },
  );
  if (/[{}]/.test(filled) || !URL.canParse(filled, source)) return undefined;
  const url = new URL(filled, source);
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}
