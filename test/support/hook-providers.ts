import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';

/** A webhook that a simulated provider has. */
export interface SimulatedHook {
  provider: 'github' | 'linear' | 'stripe' | 'telegram';
  /** The repository, team, account or bot. */
  place: string;
  id: string;
  url: string;
  secret: string;
  /** What it sends. */
  events: string[];
}

interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  text: string;
}

interface Answer {
  status?: number;
  headers?: { [name: string]: string };
  body?: Json;
}

/** Simulated GitHub, Linear, Stripe and Telegram, as their public documentation describes their webhooks. */
export interface HookProviders {
  /** Their addresses, by name. */
  services: { [name in SimulatedHook['provider']]: string };
  hooks: SimulatedHook[];
  /** Method and path of each request, with names of mutations. */
  requests: string[];
  /** Returns the answer in place of the provider's, or what is done before it. */
  before: (request: string) => Answer | undefined | Promise<Answer | undefined>;
  close(): Promise<void>;
}

/** Credentials that the providers accept; `weak` ones may not manage webhooks. */
export const HOOK_CREDENTIALS = {
  github: 'ghp_admin0123',
  github2: 'ghp_admin4567',
  githubWeak: 'ghp_weak0123',
  linear: 'lin_api_admin0123',
  linearWeak: 'lin_api_weak0123',
  stripe: 'sk_test_admin0123',
  stripeWeak: 'rk_test_weak0123',
  telegram: '4711:AAbot-of-the-loom',
  revoked: 'revoked-credential-0815',
} as const;

const REPOSITORIES: readonly string[] = ['ada/loom', 'ada/shuttle'];
const MAX_GITHUB_HOOKS = 20;
const MAX_STRIPE_ENDPOINTS = 16;

/** Starts the simulation. */
export async function hookProviders(): Promise<HookProviders> {
  const state: Pick<HookProviders, 'hooks' | 'requests' | 'before'> = {
    ...{ hooks: [], requests: [], before: () => undefined },
  };
  let last = 100;
  const nextId = (): string => String((last += 1));
  const providers = { github: github(state.hooks, nextId), linear: linear(state.hooks, nextId) };
  const all = { ...providers, stripe: stripe(state.hooks, nextId), telegram: telegram(state.hooks) };
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const url = new URL(request.url ?? '', 'http://provider.test');
      const [, name = '', path = ''] = /^\/(\w+)(\/.*)$/.exec(url.pathname) ?? [];
      const method = request.method ?? '';
      const text = Buffer.concat(chunks).toString();
      const shown = `${method} ${name}${nameOf(path, text)}`;
      state.requests.push(shown);
      const asked = { method, path, query: url.searchParams, headers: request.headers, text };
      const provider = all[name as keyof typeof all];
      const answer = (await state.before(shown)) ?? provider(asked);
      const headers = { 'content-type': 'application/json', ...answer.headers };
      response.writeHead(answer.status ?? 200, headers).end(JSON.stringify(answer.body ?? null));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    services: {
      ...{ github: `${base}/github`, linear: `${base}/linear` },
      ...{ stripe: `${base}/stripe`, telegram: `${base}/telegram` },
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

/** Returns the path without credentials; of GraphQL, the name of the field. */
function nameOf(path: string, text: string): string {
  if (path === '/graphql') return ` ${/\b(webhook\w*)\(/.exec(jsonOf(text)['query'] as string)?.[1] ?? ''}`;
  return path.replace(/\/bot[^/]+/, '/bot');
}

function jsonOf(text: string): JsonObject {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return isJsonObject(value as Json) ? (value as JsonObject) : {};
}

const tokenOf = ({ headers }: Asked): string => (headers.authorization ?? '').replace(/^(Bearer|token) /, '');

/** docs.github.com/rest/repos/webhooks: a hook is unique by address and events; secrets are never shown. */
function github(hooks: SimulatedHook[], nextId: () => string): (asked: Asked) => Answer {
  const refuse = (status: number, message: string): Answer => ({ status, body: { message } });
  const shown = ({ id, url, events }: SimulatedHook): JsonObject => ({
    ...{ id: Number(id), name: 'web', active: true, events, type: 'Repository' },
    config: { url, content_type: 'json', secret: '********', insecure_ssl: '0' },
  });
  const wantedOf = ({ text }: Asked): Pick<SimulatedHook, 'url' | 'secret' | 'events'> | undefined => {
    const { config = null, events } = jsonOf(text);
    if (!isJsonObject(config) || typeof config['url'] !== 'string' || !Array.isArray(events))
      return undefined;
    return { url: config['url'], secret: String(config['secret']), events: events.map(String) };
  };
  return (asked) => {
    if (!asked.headers['user-agent']) return refuse(403, 'Request forbidden by administrative rules.');
    const token = tokenOf(asked);
    if (!token.startsWith('ghp_')) return refuse(401, `Bad credentials: ${token}`);
    const [, place = '', id] = /^\/repos\/([\w.-]+\/[\w.-]+)\/hooks(?:\/(\w+))?$/.exec(asked.path) ?? [];
    if (!REPOSITORIES.includes(place) || token.startsWith('ghp_weak')) return refuse(404, 'Not Found');
    const own = hooks.filter((hook) => hook.provider === 'github' && hook.place === place);
    const found = own.find((hook) => hook.id === id);
    if (id !== undefined && !found) return refuse(404, 'Not Found');
    if (asked.method === 'DELETE' && found) {
      hooks.splice(hooks.indexOf(found), 1);
      return { status: 204 };
    }
    if (asked.method === 'GET') {
      const [size, page] = [Number(asked.query.get('per_page')), Number(asked.query.get('page') ?? 1)];
      return { body: own.slice((page - 1) * size, page * size).map(shown) };
    }
    const wanted = wantedOf(asked);
    if (!wanted) return refuse(422, 'Validation Failed');
    if (found) return { body: shown(Object.assign(found, wanted)) };
    const isSame = (hook: SimulatedHook): boolean =>
      hook.url === wanted.url && hook.events.join() === wanted.events.join();
    if (own.some(isSame) || own.length >= MAX_GITHUB_HOOKS)
      return refuse(422, `Validation Failed: Hook already exists on this repository ${token}`);
    const made: SimulatedHook = { provider: 'github', place, id: nextId(), ...wanted };
    hooks.push(made);
    return { status: 201, body: shown(made) };
  };
}

/** linear.app/developers/webhooks and its schema: failures have a code; several webhooks may have one address. */
function linear(hooks: SimulatedHook[], nextId: () => string): (asked: Asked) => Answer {
  const fail = (code: string, message: string): Answer => ({
    status: 400,
    body: { errors: [{ message, extensions: { code, type: message } }] },
  });
  const own = (): SimulatedHook[] => hooks.filter(({ provider }) => provider === 'linear');
  return (asked) => {
    const key = asked.headers.authorization ?? '';
    if (!key.startsWith('lin_api_')) return fail('AUTHENTICATION_ERROR', `Authentication required: ${key}`);
    if (key.startsWith('lin_api_weak')) return fail('FORBIDDEN', 'Forbidden');
    const { query = '', variables = {} } = jsonOf(asked.text);
    const { id = '', input = {}, after = null, first = 50 } = variables as JsonObject;
    const found = own().find((hook) => hook.id === id);
    const data = (field: string, value: Json): Answer => ({ body: { data: { [field]: value } } });
    const { url, secret, resourceTypes, teamId = 'all public teams' } = input as JsonObject;
    const wanted = { url: String(url), secret: String(secret), events: (resourceTypes ?? []) as string[] };
    const text = String(query);
    if (text.includes('webhookDelete')) {
      if (!found) return fail('INPUT_ERROR', 'Entity not found: Webhook');
      hooks.splice(hooks.indexOf(found), 1);
      return data('webhookDelete', { success: true });
    }
    if (text.includes('webhookUpdate')) {
      if (!found) return fail('INPUT_ERROR', 'Entity not found: Webhook');
      Object.assign(found, wanted);
      return data('webhookUpdate', { success: true, webhook: { id: found.id } });
    }
    if (text.includes('webhookCreate')) {
      const made: SimulatedHook = { provider: 'linear', place: String(teamId), id: nextId(), ...wanted };
      hooks.push(made);
      return data('webhookCreate', { success: true, webhook: { id: made.id } });
    }
    const from = after === null ? 0 : Number(after);
    const nodes = own().slice(from, from + Number(first));
    const hasNextPage = own().length > from + nodes.length;
    const pageInfo = { hasNextPage, endCursor: String(from + nodes.length) };
    return data('webhooks', {
      nodes: nodes.map(({ id: each, url: at }) => ({ id: each, url: at })),
      pageInfo,
    });
  };
}

/** docs.stripe.com/api/webhook_endpoints: the secret is shown only when an endpoint is created; one address may have several. */
function stripe(hooks: SimulatedHook[], nextId: () => string): (asked: Asked) => Answer {
  const fail = (status: number, message: string): Answer => ({
    ...{ status, body: { error: { message, type: 'invalid_request_error' } } },
  });
  const shown = ({ id, url, events }: SimulatedHook): JsonObject => ({
    ...{ id, object: 'webhook_endpoint', url, enabled_events: events, status: 'enabled' },
  });
  return (asked) => {
    const key = tokenOf(asked);
    if (!/^[rs]k_test_/.test(key)) return fail(401, `Invalid API Key provided: ${key}`);
    if (key.startsWith('rk_test_weak')) return fail(403, 'The provided key does not have the permissions.');
    const [, id] = /^\/v1\/webhook_endpoints(?:\/(\w+))?$/.exec(asked.path) ?? [];
    const own = hooks.filter(({ provider }) => provider === 'stripe');
    const found = own.find((hook) => hook.id === id);
    if (id !== undefined && !found) return fail(404, `No such webhook endpoint: ${id}`);
    if (asked.method === 'DELETE' && found) {
      hooks.splice(hooks.indexOf(found), 1);
      return { body: { id: found.id, deleted: true } };
    }
    if (asked.method === 'GET') {
      const after = asked.query.get('starting_after');
      const from = after === null ? 0 : own.findIndex((hook) => hook.id === after) + 1;
      const page = own.slice(from, from + Number(asked.query.get('limit') ?? 10));
      return { body: { object: 'list', data: page.map(shown), has_more: from + page.length < own.length } };
    }
    const form = new URLSearchParams(asked.text);
    const wanted = { url: form.get('url') ?? '', events: form.getAll('enabled_events[]') };
    if (!wanted.url.startsWith('https://') || wanted.events.length === 0)
      return fail(400, `Invalid URL ${key}`);
    if (found) return { body: shown(Object.assign(found, wanted)) };
    if (own.length >= MAX_STRIPE_ENDPOINTS) return fail(400, 'You have reached the maximum of endpoints.');
    const secret = `whsec_${randomBytes(16).toString('hex')}`;
    const made: SimulatedHook = { provider: 'stripe', place: key, id: `we_${nextId()}`, secret, ...wanted };
    hooks.push(made);
    return { body: { ...shown(made), secret } };
  };
}

/** core.telegram.org/bots/api: a bot has one webhook; a malformed token is an unknown path. */
function telegram(hooks: SimulatedHook[]): (asked: Asked) => Answer {
  const fail = (status: number, description: string): Answer => ({
    ...{ status, body: { ok: false, error_code: status, description } },
  });
  return (asked) => {
    const [, bot = '', token = '', method = ''] = /^\/bot(\d+):([\w-]+)\/(\w+)$/.exec(asked.path) ?? [];
    if (bot === '') return fail(404, 'Not Found');
    if (!token.startsWith('AA')) return fail(401, 'Unauthorized');
    const found = hooks.find((hook) => hook.provider === 'telegram' && hook.id === bot);
    if (method === 'getWebhookInfo') return { body: { ok: true, result: { url: found?.url ?? '' } } };
    if (method === 'deleteWebhook') {
      if (found) hooks.splice(hooks.indexOf(found), 1);
      return { body: { ok: true, result: true } };
    }
    const { url, secret_token: secret } = jsonOf(asked.text);
    const wanted = { url: String(url), secret: String(secret), events: [] };
    if (!/^https:\/\/[^/:]+(:(443|80|88|8443))?\//.test(wanted.url))
      return fail(400, 'Bad Request: bad webhook: HTTPS URL must be provided for webhook');
    if (found) Object.assign(found, wanted);
    else hooks.push({ provider: 'telegram', place: bot, id: bot, ...wanted });
    return { body: { ok: true, result: true, description: 'Webhook was set' } };
  };
}
