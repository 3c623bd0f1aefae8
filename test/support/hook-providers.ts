import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';

/** A webhook at a simulated provider. */
export interface SimulatedHook {
  provider: 'github' | 'linear' | 'stripe' | 'telegram';
  /** The repository, team, account or bot. */
  place: string;
  id: string;
  url: string;
  secret: string;
  /** The events that it sends. */
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
  /** The answer is never complete: `silent` sends nothing, `slow` the head and single bytes, `fast` endless bytes. */
  unfinished?: 'silent' | 'slow' | 'fast';
  /** The provider executes the request before it sends this answer. */
  isDone?: true;
}

/** Simulated webhooks of GitHub, Linear, Stripe and Telegram, according to their public documentation. */
export interface HookProviders {
  /** Their addresses, by name. */
  services: { [name in SimulatedHook['provider']]: string };
  hooks: SimulatedHook[];
  /** Method and path of each request, with names of mutations. */
  requests: string[];
  /** Called before each request is answered. May return an answer that replaces the provider's. */
  before: (request: string) => Answer | undefined | Promise<Answer | undefined>;
  close(): Promise<void>;
}

/** Credentials that the providers accept; `weak` credentials may not manage webhooks. */
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
      const given = await state.before(shown);
      const own = given && !given.isDone ? undefined : provider(asked);
      send(given ?? own ?? {}, response);
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

function send({ status = 200, headers, body = null, unfinished }: Answer, response: ServerResponse): void {
  if (unfinished === 'silent') return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  if (unfinished) void pipeline(endless(unfinished), response).catch(() => undefined);
  else response.end(JSON.stringify(body));
}

/** Yields endless bytes. */
async function* endless(pace: 'slow' | 'fast'): AsyncGenerator<string> {
  for (;;) {
    yield pace === 'slow' ? ' ' : ' '.repeat(2 ** 16);
    await (pace === 'slow' ? setTimeout(20) : setImmediate());
  }
}

/** Returns the path without credentials; for GraphQL the name of the field. */
function nameOf(path: string, text: string): string {
  if (path === '/graphql') return ` ${/\b(webhook\w*)\(/.exec(jsonOf(text)['query'] as string)?.[1] ?? ''}`;
  return path.replace(/\/bot[^/]+/, '/bot');
}

function jsonOf(text: string): JsonObject {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return isJsonObject(value as Json) ? (value as JsonObject) : {};
}

const tokenOf = ({ headers }: Asked): string => (headers.authorization ?? '').replace(/^(Bearer|token) /, '');

type Wanted = Pick<SimulatedHook, 'url' | 'secret' | 'events'>;

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const textsOf = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(textOf) : []);
const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Removes a webhook. */
function remove(hooks: SimulatedHook[], hook: SimulatedHook): void {
  hooks.splice(hooks.indexOf(hook), 1);
}

const refused = (status: number, message: string): Answer => ({ status, body: { message } });

/** Simulates docs.github.com/rest/repos/webhooks: a hook is unique by address and events; secrets are never shown. */
function github(hooks: SimulatedHook[], nextId: () => string): (asked: Asked) => Answer {
  return (asked) => {
    const [, place = '', id] = /^\/repos\/([\w.-]+\/[\w.-]+)\/hooks(?:\/(\w+))?$/.exec(asked.path) ?? [];
    const denied = gitHubRefusal(asked, place);
    if (denied) return denied;
    const own = hooks.filter((hook) => hook.provider === 'github' && hook.place === place);
    if (id !== undefined)
      return gitHubHook(
        hooks,
        own.find((hook) => hook.id === id),
        asked,
      );
    if (asked.method === 'GET') {
      const [size, page] = [Number(asked.query.get('per_page')), Number(asked.query.get('page') ?? 1)];
      return { body: own.slice((page - 1) * size, page * size).map(gitHubShown) };
    }
    const wanted = gitHubWanted(asked);
    const isSame = (hook: SimulatedHook): boolean =>
      hook.url === wanted?.url && hook.events.join() === wanted.events.join();
    if (!wanted || own.some(isSame) || own.length >= MAX_GITHUB_HOOKS)
      return refused(422, `Validation Failed: Hook already exists on this repository ${tokenOf(asked)}`);
    const made: SimulatedHook = { provider: 'github', place, id: nextId(), ...wanted };
    hooks.push(made);
    return { status: 201, body: gitHubShown(made) };
  };
}

function gitHubRefusal(asked: Asked, place: string): Answer | undefined {
  const token = tokenOf(asked);
  if (!asked.headers['user-agent']) return refused(403, 'Request forbidden by administrative rules.');
  if (!token.startsWith('ghp_')) return refused(401, `Bad credentials: ${token}`);
  if (!REPOSITORIES.includes(place) || token.startsWith('ghp_weak')) return refused(404, 'Not Found');
  return undefined;
}

function gitHubHook(hooks: SimulatedHook[], found: SimulatedHook | undefined, asked: Asked): Answer {
  if (!found) return refused(404, 'Not Found');
  if (asked.method === 'DELETE') {
    remove(hooks, found);
    return { status: 204 };
  }
  const wanted = gitHubWanted(asked);
  return wanted ? { body: gitHubShown(Object.assign(found, wanted)) } : refused(422, 'Validation Failed');
}

function gitHubShown({ id, url, events }: SimulatedHook): JsonObject {
  const config = { url, content_type: 'json', secret: '********', insecure_ssl: '0' };
  return { id: Number(id), name: 'web', active: true, events, type: 'Repository', config };
}

function gitHubWanted({ text }: Asked): Wanted | undefined {
  const { config = null, events } = jsonOf(text);
  if (!isJsonObject(config) || textOf(config['url']) === '') return undefined;
  return { url: textOf(config['url']), secret: textOf(config['secret']), events: textsOf(events) };
}

const linearError = (code: string, message: string): Answer => ({
  status: 400,
  body: { errors: [{ message, extensions: { code, type: message } }] },
});
function linearRefusal({ headers }: Asked): Answer | undefined {
  const key = headers.authorization ?? '';
  if (!key.startsWith('lin_api_'))
    return linearError('AUTHENTICATION_ERROR', `Authentication required: ${key}`);
  return key.startsWith('lin_api_weak') ? linearError('FORBIDDEN', 'Forbidden') : undefined;
}

const ALL_PUBLIC_TEAMS = 'all public teams';
const linearData = (field: string, value: Json): Answer => ({ body: { data: { [field]: value } } });

/** Simulates linear.app/developers/webhooks and its schema: failures have a code; several webhooks may have one address. */
function linear(hooks: SimulatedHook[], nextId: () => string): (asked: Asked) => Answer {
  const own = (): SimulatedHook[] => hooks.filter(({ provider }) => provider === 'linear');
  const created = ({ teamId = ALL_PUBLIC_TEAMS }: JsonObject, wanted: Wanted): Answer => {
    const made: SimulatedHook = { provider: 'linear', place: textOf(teamId), id: nextId(), ...wanted };
    hooks.push(made);
    return linearData('webhookCreate', { success: true, webhook: { id: made.id } });
  };
  const listed = ({ first = 50, after = null }: JsonObject): Answer => {
    const from = Number(after);
    const nodes = own().slice(from, from + Number(first));
    const pageInfo = {
      hasNextPage: own().length > from + nodes.length,
      endCursor: String(from + nodes.length),
    };
    const shown = nodes.map(({ id, url, place }) => ({
      ...{ id, url, team: place === ALL_PUBLIC_TEAMS ? null : { id: place } },
    }));
    return linearData('webhooks', { nodes: shown, pageInfo });
  };
  return (asked) => {
    const denied = linearRefusal(asked);
    if (denied) return denied;
    const { query, variables } = jsonOf(asked.text);
    const { id, input, ...page } = objectOf(variables);
    const [mutation] = /webhook(Create|Update|Delete)/.exec(textOf(query)) ?? [];
    const { url, secret, resourceTypes } = objectOf(input);
    const wanted = { url: textOf(url), secret: textOf(secret), events: textsOf(resourceTypes) };
    if (mutation === undefined) return listed(page);
    if (mutation === 'webhookCreate') return created(objectOf(input), wanted);
    const found = own().find((hook) => hook.id === id);
    if (!found) return linearError('INPUT_ERROR', 'Entity not found: Webhook');
    if (mutation === 'webhookDelete') remove(hooks, found);
    else Object.assign(found, wanted);
    return linearData(mutation, { success: true });
  };
}

const stripeError = (status: number, message: string): Answer => ({
  ...{ status, body: { error: { message, type: 'invalid_request_error' } } },
});
const stripeShown = ({ id, url, events }: SimulatedHook): JsonObject => ({
  ...{ id, object: 'webhook_endpoint', url, enabled_events: events, status: 'enabled' },
});

/**
 * Simulates docs.stripe.com/api/webhook_endpoints: the secret is shown only when an endpoint is created; one address
 * may have several.
 */
function stripe(hooks: SimulatedHook[], nextId: () => string): (asked: Asked) => Answer {
  const wantedOf = ({ text }: Asked): Pick<SimulatedHook, 'url' | 'events'> | undefined => {
    const form = new URLSearchParams(text);
    const wanted = { url: form.get('url') ?? '', events: form.getAll('enabled_events[]') };
    return wanted.url.startsWith('https://') && wanted.events.length > 0 ? wanted : undefined;
  };
  const endpoint = (found: SimulatedHook | undefined, asked: Asked): Answer => {
    if (!found) return stripeError(404, 'No such webhook endpoint');
    if (asked.method !== 'DELETE') return { body: stripeShown(Object.assign(found, wantedOf(asked))) };
    remove(hooks, found);
    return { body: { id: found.id, deleted: true } };
  };
  const listed = (own: readonly SimulatedHook[], { query }: Asked): Answer => {
    const from = own.findIndex((hook) => hook.id === query.get('starting_after')) + 1;
    const page = own.slice(from, from + Number(query.get('limit') ?? 10));
    const has_more = from + page.length < own.length;
    return { body: { object: 'list', data: page.map(stripeShown), has_more } };
  };
  return (asked) => {
    const key = tokenOf(asked);
    if (!/^[rs]k_test_/.test(key)) return stripeError(401, `Invalid API Key provided: ${key}`);
    if (key.startsWith('rk_test_weak'))
      return stripeError(403, 'The provided key does not have the permissions.');
    const [, id] = /^\/v1\/webhook_endpoints(?:\/(\w+))?$/.exec(asked.path) ?? [];
    const own = hooks.filter(({ provider }) => provider === 'stripe');
    if (id !== undefined)
      return endpoint(
        own.find((hook) => hook.id === id),
        asked,
      );
    if (asked.method === 'GET') return listed(own, asked);
    const wanted = wantedOf(asked);
    if (!wanted || own.length >= MAX_STRIPE_ENDPOINTS) return stripeError(400, `Invalid URL ${key}`);
    const secret = `whsec_${randomBytes(16).toString('hex')}`;
    const made: SimulatedHook = { provider: 'stripe', place: key, id: `we_${nextId()}`, secret, ...wanted };
    hooks.push(made);
    return { body: { ...stripeShown(made), secret } };
  };
}

const telegramError = (status: number, description: string): Answer => ({
  ...{ status, body: { ok: false, error_code: status, description } },
});

/** Simulates core.telegram.org/bots/api: a bot has one webhook; a malformed token is an unknown path. */
function telegram(hooks: SimulatedHook[]): (asked: Asked) => Answer {
  const set = (bot: string, found: SimulatedHook | undefined, { text }: Asked): Answer => {
    const { url, secret_token: secret } = jsonOf(text);
    const wanted = { url: textOf(url), secret: textOf(secret), events: [] };
    if (!/^https:\/\/[^/:]+(:(443|80|88|8443))?\//.test(wanted.url))
      return telegramError(400, 'Bad Request: bad webhook: HTTPS URL must be provided for webhook');
    if (found) Object.assign(found, wanted);
    else hooks.push({ provider: 'telegram', place: bot, id: bot, ...wanted });
    return { body: { ok: true, result: true, description: 'Webhook was set' } };
  };
  return (asked) => {
    const [, bot, token = '', method = ''] = /^\/bot(\d+):([\w-]+)\/(\w+)$/.exec(asked.path) ?? [];
    if (bot === undefined) return telegramError(404, 'Not Found');
    if (!token.startsWith('AA')) return telegramError(401, 'Unauthorized');
    const found = hooks.find((hook) => hook.provider === 'telegram' && hook.id === bot);
    if (method === 'getWebhookInfo') return { body: { ok: true, result: { url: found?.url ?? '' } } };
    if (method === 'setWebhook') return set(bot, found, asked);
    if (found) remove(hooks, found);
    return { body: { ok: true, result: true } };
  };
}
