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
  resource: string;
  id: string;
  url: string;
  secret: string;
  /** The events that it sends. */
  events: string[];
}

interface HookRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  text: string;
}

interface ProviderResponse {
  status?: number;
  headers?: { [name: string]: string };
  body?: Json;
  /** A response that never ends. `silent` sends nothing, `slow` single bytes, and `fast` many bytes at a time. */
  unfinished?: 'silent' | 'slow' | 'fast';
  /** The provider executes the request before it sends this response. */
  executesRequest?: true;
}

/** Simulated webhook APIs of GitHub, Linear, Stripe and Telegram, according to their public documentation. */
export interface HookProviders {
  /** Base URLs of the providers. */
  services: { [name in SimulatedHook['provider']]: string };
  hooks: SimulatedHook[];
  /** Method and path of each request; for GraphQL also the name of the mutation. */
  requests: string[];
  /** Called before each response. May return a response that replaces that of the provider. */
  beforeResponse: (request: string) => ProviderResponse | undefined | Promise<ProviderResponse | undefined>;
  close(): Promise<void>;
}

/** Credentials of the providers. The `…ReadOnly` credentials may not manage webhooks. `revoked` is not accepted. */
export const HOOK_CREDENTIALS = {
  github: 'ghp_admin0123',
  github2: 'ghp_admin4567',
  githubReadOnly: 'ghp_readonly0123',
  linear: 'lin_api_admin0123',
  linearReadOnly: 'lin_api_readonly0123',
  stripe: 'sk_test_admin0123',
  stripeReadOnly: 'rk_test_readonly0123',
  telegram: '4711:AAbot-of-the-loom',
  revoked: 'revoked-credential-0815',
} as const;

const REPOSITORIES: readonly string[] = ['ada/loom', 'ada/shuttle'];
const MAX_GITHUB_HOOKS = 20;
const MAX_STRIPE_ENDPOINTS = 16;

/** Starts a server that simulates the providers. */
export async function startHookProviders(): Promise<HookProviders> {
  const state: Pick<HookProviders, 'hooks' | 'requests' | 'beforeResponse'> = {
    ...{ hooks: [], requests: [], beforeResponse: () => undefined },
  };
  let lastId = 100;
  const nextId = (): string => String((lastId += 1));
  const gitHubAndLinearHandlers = {
    github: createGitHubHandler(state.hooks, nextId),
    linear: createLinearHandler(state.hooks, nextId),
  };
  const handlers = {
    ...gitHubAndLinearHandlers,
    stripe: createStripeHandler(state.hooks, nextId),
    telegram: createTelegramHandler(state.hooks),
  };
  const server = createServer((incoming, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const url = new URL(incoming.url ?? '', 'http://provider.test');
      const [, name = '', path = ''] = /^\/(\w+)(\/.*)$/.exec(url.pathname) ?? [];
      const method = incoming.method ?? '';
      const text = Buffer.concat(chunks).toString();
      const label = `${method} ${name}${describeRequest(path, text)}`;
      state.requests.push(label);
      const request = { method, path, query: url.searchParams, headers: incoming.headers, text };
      const handler = handlers[name as keyof typeof handlers];
      const replacement = await state.beforeResponse(label);
      const providerResponse = replacement && !replacement.executesRequest ? undefined : handler(request);
      send(replacement ?? providerResponse ?? {}, response);
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

function send(
  { status = 200, headers, body = null, unfinished }: ProviderResponse,
  response: ServerResponse,
): void {
  if (unfinished === 'silent') return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  if (unfinished) void pipeline(generateSpaces(unfinished), response).catch(() => undefined);
  else response.end(JSON.stringify(body));
}

/** Yields spaces without end. */
async function* generateSpaces(speed: 'slow' | 'fast'): AsyncGenerator<string> {
  for (;;) {
    yield speed === 'slow' ? ' ' : ' '.repeat(2 ** 16);
    await (speed === 'slow' ? setTimeout(20) : setImmediate());
  }
}

/** Returns the path without credentials; for GraphQL the name of the mutation. */
function describeRequest(path: string, text: string): string {
  if (path !== '/graphql') return path.replace(/\/bot[^/]+/, '/bot');
  const { query } = parseObject(text);
  return ` ${/\b(webhook\w*)\(/.exec(query as string)?.[1] ?? ''}`;
}

function parseObject(text: string): JsonObject {
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return isJsonObject(value as Json) ? (value as JsonObject) : {};
}

const tokenOf = ({ headers }: HookRequest): string =>
  (headers.authorization ?? '').replace(/^(Bearer|token) /, '');

type HookSettings = Pick<SimulatedHook, 'url' | 'secret' | 'events'>;

const stringOrEmpty = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const stringsOf = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.map(stringOrEmpty) : [];
const objectOrEmpty = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Removes a webhook. */
function remove(hooks: SimulatedHook[], hook: SimulatedHook): void {
  hooks.splice(hooks.indexOf(hook), 1);
}

const gitHubError = (status: number, message: string): ProviderResponse => ({ status, body: { message } });

/** Simulates docs.github.com/rest/repos/webhooks: a hook is unique by URL and events; secrets are never shown. */
function createGitHubHandler(
  hooks: SimulatedHook[],
  nextId: () => string,
): (request: HookRequest) => ProviderResponse {
  return (request) => {
    const [, repo = '', id] = /^\/repos\/([\w.-]+\/[\w.-]+)\/hooks(?:\/(\w+))?$/.exec(request.path) ?? [];
    const refusal = gitHubRefusal(request, repo);
    if (refusal) return refusal;
    const repositoryHooks = hooks.filter((hook) => hook.provider === 'github' && hook.resource === repo);
    if (id !== undefined)
      return handleHookRequest(
        hooks,
        repositoryHooks.find((hook) => hook.id === id),
        request,
      );
    if (request.method === 'GET') {
      const [size, page] = [Number(request.query.get('per_page')), Number(request.query.get('page') ?? 1)];
      return { body: repositoryHooks.slice((page - 1) * size, page * size).map(gitHubJson) };
    }
    const settings = gitHubSettings(request);
    const isSame = (hook: SimulatedHook): boolean =>
      hook.url === settings?.url && hook.events.join() === settings.events.join();
    if (!settings || repositoryHooks.some(isSame) || repositoryHooks.length >= MAX_GITHUB_HOOKS)
      return gitHubError(
        422,
        `Validation Failed: Hook already exists on this repository ${tokenOf(request)}`,
      );
    const hook: SimulatedHook = { provider: 'github', resource: repo, id: nextId(), ...settings };
    hooks.push(hook);
    return { status: 201, body: gitHubJson(hook) };
  };
}

function gitHubRefusal(request: HookRequest, repo: string): ProviderResponse | undefined {
  const token = tokenOf(request);
  if (!request.headers['user-agent']) return gitHubError(403, 'Request forbidden by administrative rules.');
  if (!token.startsWith('ghp_')) return gitHubError(401, `Bad credentials: ${token}`);
  if (!REPOSITORIES.includes(repo) || token.startsWith('ghp_readonly')) return gitHubError(404, 'Not Found');
  return undefined;
}

function handleHookRequest(
  hooks: SimulatedHook[],
  hook: SimulatedHook | undefined,
  request: HookRequest,
): ProviderResponse {
  if (!hook) return gitHubError(404, 'Not Found');
  if (request.method === 'DELETE') {
    remove(hooks, hook);
    return { status: 204 };
  }
  const settings = gitHubSettings(request);
  if (!settings) return gitHubError(422, 'Validation Failed');
  return { body: gitHubJson(Object.assign(hook, settings)) };
}

function gitHubJson({ id, url, events }: SimulatedHook): JsonObject {
  const config = { url, content_type: 'json', secret: '********', insecure_ssl: '0' };
  return { id: Number(id), name: 'web', active: true, events, type: 'Repository', config };
}

function gitHubSettings({ text }: HookRequest): HookSettings | undefined {
  const { config = null, events } = parseObject(text);
  if (!isJsonObject(config) || stringOrEmpty(config['url']) === '') return undefined;
  const { url, secret } = config;
  return { url: stringOrEmpty(url), secret: stringOrEmpty(secret), events: stringsOf(events) };
}

const linearError = (code: string, message: string): ProviderResponse => ({
  status: 400,
  body: { errors: [{ message, extensions: { code, type: message } }] },
});
function linearRefusal({ headers }: HookRequest): ProviderResponse | undefined {
  const key = headers.authorization ?? '';
  if (!key.startsWith('lin_api_'))
    return linearError('AUTHENTICATION_ERROR', `Authentication required: ${key}`);
  return key.startsWith('lin_api_readonly') ? linearError('FORBIDDEN', 'Forbidden') : undefined;
}

const ALL_PUBLIC_TEAMS = 'all public teams';
const linearData = (field: string, value: Json): ProviderResponse => ({ body: { data: { [field]: value } } });

/** Simulates linear.app/developers/webhooks and its schema: errors have a code; several webhooks may have one URL. */
function createLinearHandler(
  hooks: SimulatedHook[],
  nextId: () => string,
): (request: HookRequest) => ProviderResponse {
  const linearHooks = (): SimulatedHook[] => hooks.filter(({ provider }) => provider === 'linear');
  const create = ({ teamId = ALL_PUBLIC_TEAMS }: JsonObject, settings: HookSettings): ProviderResponse => {
    const resource = stringOrEmpty(teamId);
    const hook: SimulatedHook = { provider: 'linear', resource, id: nextId(), ...settings };
    hooks.push(hook);
    return linearData('webhookCreate', { success: true, webhook: { id: hook.id } });
  };
  const list = ({ first = 50, after = null }: JsonObject): ProviderResponse => {
    const startIndex = Number(after);
    const page = linearHooks().slice(startIndex, startIndex + Number(first));
    const pageInfo = {
      hasNextPage: linearHooks().length > startIndex + page.length,
      endCursor: String(startIndex + page.length),
    };
    const nodes = page.map(({ id, url, resource }) => ({
      ...{ id, url, team: resource === ALL_PUBLIC_TEAMS ? null : { id: resource } },
    }));
    return linearData('webhooks', { nodes, pageInfo });
  };
  return (request) => {
    const refusal = linearRefusal(request);
    if (refusal) return refusal;
    const { query, variables } = parseObject(request.text);
    const { id, input, ...pageVariables } = objectOrEmpty(variables);
    const [mutation] = /webhook(Create|Update|Delete)/.exec(stringOrEmpty(query)) ?? [];
    const { url, secret, resourceTypes } = objectOrEmpty(input);
    const settings = {
      ...{ url: stringOrEmpty(url), secret: stringOrEmpty(secret) },
      events: stringsOf(resourceTypes),
    };
    if (mutation === undefined) return list(pageVariables);
    if (mutation === 'webhookCreate') return create(objectOrEmpty(input), settings);
    const hook = linearHooks().find((candidate) => candidate.id === id);
    if (!hook) return linearError('INPUT_ERROR', 'Entity not found: Webhook');
    if (mutation === 'webhookDelete') remove(hooks, hook);
    else Object.assign(hook, settings);
    return linearData(mutation, { success: true });
  };
}

const stripeError = (status: number, message: string): ProviderResponse => ({
  ...{ status, body: { error: { message, type: 'invalid_request_error' } } },
});
const stripeJson = ({ id, url, events }: SimulatedHook): JsonObject => ({
  ...{ id, object: 'webhook_endpoint', url, enabled_events: events, status: 'enabled' },
});

/**
 * Simulates docs.stripe.com/api/webhook_endpoints: the secret is shown only when an endpoint is created; several
 * endpoints may have one URL.
 */
function createStripeHandler(
  hooks: SimulatedHook[],
  nextId: () => string,
): (request: HookRequest) => ProviderResponse {
  const settingsOf = ({ text }: HookRequest): Pick<SimulatedHook, 'url' | 'events'> | undefined => {
    const form = new URLSearchParams(text);
    const settings = { url: form.get('url') ?? '', events: form.getAll('enabled_events[]') };
    return settings.url.startsWith('https://') && settings.events.length > 0 ? settings : undefined;
  };
  const handleEndpointRequest = (hook: SimulatedHook | undefined, request: HookRequest): ProviderResponse => {
    if (!hook) return stripeError(404, 'No such webhook endpoint');
    if (request.method !== 'DELETE') return { body: stripeJson(Object.assign(hook, settingsOf(request))) };
    remove(hooks, hook);
    return { body: { id: hook.id, deleted: true } };
  };
  const list = (endpoints: readonly SimulatedHook[], { query }: HookRequest): ProviderResponse => {
    const startIndex = endpoints.findIndex((hook) => hook.id === query.get('starting_after')) + 1;
    const page = endpoints.slice(startIndex, startIndex + Number(query.get('limit') ?? 10));
    const has_more = startIndex + page.length < endpoints.length;
    return { body: { object: 'list', data: page.map(stripeJson), has_more } };
  };
  return (request) => {
    const key = tokenOf(request);
    if (!/^[rs]k_test_/.test(key)) return stripeError(401, `Invalid API Key provided: ${key}`);
    if (key.startsWith('rk_test_readonly'))
      return stripeError(403, 'The provided key does not have the permissions.');
    const [, id] = /^\/v1\/webhook_endpoints(?:\/(\w+))?$/.exec(request.path) ?? [];
    const endpoints = hooks.filter(({ provider }) => provider === 'stripe');
    if (id !== undefined)
      return handleEndpointRequest(
        endpoints.find((hook) => hook.id === id),
        request,
      );
    if (request.method === 'GET') return list(endpoints, request);
    const settings = settingsOf(request);
    if (!settings || endpoints.length >= MAX_STRIPE_ENDPOINTS) return stripeError(400, `Invalid URL ${key}`);
    const secret = `whsec_${randomBytes(16).toString('hex')}`;
    const hook: SimulatedHook = {
      provider: 'stripe',
      resource: key,
      id: `we_${nextId()}`,
      secret,
      ...settings,
    };
    hooks.push(hook);
    return { body: { ...stripeJson(hook), secret } };
  };
}

const telegramError = (status: number, description: string): ProviderResponse => ({
  ...{ status, body: { ok: false, error_code: status, description } },
});

/** Simulates core.telegram.org/bots/api: a bot has one webhook; a malformed token is an unknown path. */
function createTelegramHandler(hooks: SimulatedHook[]): (request: HookRequest) => ProviderResponse {
  const setWebhook = (
    bot: string,
    hook: SimulatedHook | undefined,
    { text }: HookRequest,
  ): ProviderResponse => {
    const { url, secret_token: secret } = parseObject(text);
    const settings = { url: stringOrEmpty(url), secret: stringOrEmpty(secret), events: [] };
    if (!/^https:\/\/[^/:]+(:(443|80|88|8443))?\//.test(settings.url))
      return telegramError(400, 'Bad Request: bad webhook: HTTPS URL must be provided for webhook');
    if (hook) Object.assign(hook, settings);
    else hooks.push({ provider: 'telegram', resource: bot, id: bot, ...settings });
    return { body: { ok: true, result: true, description: 'Webhook was set' } };
  };
  return (request) => {
    const [, bot, token = '', method = ''] = /^\/bot(\d+):([\w-]+)\/(\w+)$/.exec(request.path) ?? [];
    if (bot === undefined) return telegramError(404, 'Not Found');
    if (!token.startsWith('AA')) return telegramError(401, 'Unauthorized');
    const hook = hooks.find((candidate) => candidate.provider === 'telegram' && candidate.id === bot);
    if (method === 'getWebhookInfo') return { body: { ok: true, result: { url: hook?.url ?? '' } } };
    if (method === 'setWebhook') return setWebhook(bot, hook, request);
    if (hook) remove(hooks, hook);
    return { body: { ok: true, result: true } };
  };
}
