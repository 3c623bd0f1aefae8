import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { ConnectionOptions } from '@heddle/sandbox/egress';
import { ImageError } from '../error.ts';
import type { NpmSettings } from './npm-settings.ts';

/** The default registry. */
const DEFAULT_REGISTRY = 'https://registry.npmjs.org/';

/** Settings that npm itself gets: registries by name, and retries and timeouts. */
const FORWARDED_SETTINGS = /^(?:registry|@[^:]+:registry|fetch-retries|fetch-retry-[a-z]+|fetch-timeout)$/;

/** Credentials for a URL. npm itself never gets them. */
interface Credentials {
  /** The Authorization header. */
  readonly authorization?: string;
  /** The client certificate and its private key, in PEM format. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
}

const NO_CREDENTIALS: Credentials = {};

const basicAuth = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

function readSettingFile(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ImageError('provider_error', `The file of npm's setting ${setting} cannot be read.`, {
      cause: error,
    });
  }
}

/** npm's registry settings, split into those that npm gets and those that only the host uses. */
export class RegistrySettings {
  /** Settings without secrets, for the npm process. */
  readonly npmSettings: NpmSettings;
  readonly #settings: NpmSettings;
  readonly #registries: readonly URL[];
  readonly #hosts: ReadonlySet<string>;

  constructor(settings: NpmSettings) {
    this.#settings = settings;
    const registries = Object.entries(settings).filter(([key]) => /^(?:@.+:)?registry$/.test(key));
    if (settings['registry'] === undefined) registries.push(['registry', DEFAULT_REGISTRY]);
    this.#registries = registries.flatMap(([, value]) => (URL.canParse(value) ? [new URL(value)] : []));
    const namedHosts = Object.keys(settings).flatMap(
      (key) => /^\/\/([^/:]+(?::\d+)?)[/:]/.exec(key)?.[1] ?? [],
    );
    this.#hosts = new Set([...this.#registries.map(({ host }) => host), ...namedHosts]);
    this.npmSettings = Object.fromEntries(
      Object.entries(settings)
        .filter(([key]) => FORWARDED_SETTINGS.test(key))
        .map(([key, value]) => [key, removeCredentials(value)]),
    );
  }

  /** Returns whether the settings name the URL's host. */
  namesHost({ host }: URL): boolean {
    return this.#hosts.has(host);
  }

  /**
   * Returns the credentials for a URL by npm's rules: those of the longest matching path, otherwise those of the
   * registry on the same host.
   */
  credentialsFor(url: URL): Credentials {
    const pathCredentials = this.#credentialsAt(url);
    if (pathCredentials !== NO_CREDENTIALS) return pathCredentials;
    const registry = this.#registries.find(({ host }) => host === url.host);
    if (registry === undefined) return NO_CREDENTIALS;
    const { username, password } = registry;
    if (username === '') return this.#credentialsAt(registry);
    const authorization = basicAuth(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
    return { authorization };
  }

  /** Returns how to connect to a registry, and through which proxy, if any. */
  connectionFor(url: URL, { clientCertificate }: Credentials): ConnectionOptions {
    const { cafile, ca, 'node-extra-ca-certs': extraCaFile } = this.#settings;
    const trustedCertificates =
      cafile !== undefined
        ? [readSettingFile('cafile', cafile)]
        : ca !== undefined && ca !== 'null'
          ? [ca.replaceAll('\\n', '\n')]
          : extraCaFile !== undefined
            ? [...rootCertificates, readSettingFile('NODE_EXTRA_CA_CERTS', extraCaFile)]
            : undefined;
    const proxy = this.#proxyFor(url);
    return {
      verify: this.#settings['strict-ssl'] !== 'false',
      ...(trustedCertificates && { ca: trustedCertificates }),
      ...(clientCertificate && { client: clientCertificate }),
      ...(proxy !== undefined && { proxy }),
    };
  }

  #credentialsAt({ host, pathname }: URL): Credentials {
    for (let key = `//${host}${pathname}`; key.length > 2; key = key.replace(/(?:[^/]+|\/)$/, '')) {
      const get = (name: string): string | undefined => this.#settings[`${key}:${name}`];
      const { token, auth, user, password } = {
        token: get('_authToken'),
        auth: get('_auth'),
        user: get('username'),
        password: get('_password'),
      };
      if (token !== undefined) return { authorization: `Bearer ${token}` };
      if (auth !== undefined) return { authorization: `Basic ${auth}` };
      if (user !== undefined && password !== undefined) {
        const decodedPassword = Buffer.from(password, 'base64').toString('utf8');
        return { authorization: basicAuth(`${user}:${decodedPassword}`) };
      }
      const [certfile, keyfile] = [get('certfile'), get('keyfile')];
      if (certfile !== undefined && keyfile !== undefined)
        return {
          clientCertificate: {
            cert: readSettingFile('certfile', certfile),
            key: readSettingFile('keyfile', keyfile),
          },
        };
    }
    return NO_CREDENTIALS;
  }

  #proxyFor({ protocol, hostname }: URL): string | undefined {
    const { proxy, 'https-proxy': httpsProxy, noproxy = '' } = this.#settings;
    const isExempt = noproxy
      .split(',')
      .map((name) => name.trim().replace(/^\./, ''))
      .some((name) => name !== '' && (hostname === name || hostname.endsWith(`.${name}`)));
    const proxyUrl = protocol === 'https:' ? (httpsProxy ?? proxy) : proxy;
    return isExempt || proxyUrl === undefined || !URL.canParse(proxyUrl) ? undefined : proxyUrl;
  }
}

function removeCredentials(value: string): string {
  if (!URL.canParse(value)) return value;
  const url = new URL(value);
  if (url.username === '' && url.password === '') return value;
  url.username = url.password = '';
  return url.href;
}
