import { isJsonObject, own } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { retryAfterMs } from '@heddle/core/fields';
import { headerOf } from '../../http.ts';
import { gitHubEventsOf } from '../providers.ts';
import {
  hookFailedError,
  findHook,
  hookIdOf,
  hookRequest,
  hookStatusError,
  objectsIn,
  PAGE_SIZE,
  hookRefusedError,
  removeHook,
} from './hook.ts';
import type { HookCall } from '@heddle/engine/triggers';
import type {
  HookResponse,
  HookConfig,
  HookRequest,
  HookService,
  ListedHook,
  ProviderHooks,
} from './hook.ts';

// docs.github.com/rest/repos/webhooks

const SERVICE: HookService = { name: 'github', title: 'GitHub', address: 'https://api.github.com' };

/** The hooks of repositories. */
export const githubHooks: ProviderHooks = {
  locationOf: ({ owner = '', repo = '' }) => `${owner}/${repo}`.toLowerCase(),
  async activate(hook, call, eventNames) {
    const send = senderFor(hook, call, await call.credential(hook.credential));
    const config = { url: call.url, content_type: 'json', secret: call.secret, insecure_ssl: '0' };
    const settings = { active: true, events: gitHubEventsOf(eventNames), config };
    const recordedId = call.hookId;
    if (recordedId !== undefined) {
      const changed = await send({ method: 'PATCH', path: `/${recordedId}`, body: settings }, [404]);
      if (changed.status !== 404) return { id: recordedId };
    }
    const foundId = await findHook(SERVICE, call, { pages: pagesOf(send) });
    if (foundId !== undefined) {
      await send({ method: 'PATCH', path: `/${foundId}`, body: settings });
      return { id: foundId };
    }
    const created = await send({ method: 'POST', path: '', body: { name: 'web', ...settings } });
    return { id: hookIdOf(SERVICE, isJsonObject(created.body) ? created.body['id'] : undefined) };
  },
  async deactivate(hook, call) {
    const send = senderFor(hook, call, await call.credential(hook.credential));
    await removeHook(call, {
      remove: async (id) => (await send({ method: 'DELETE', path: `/${id}` }, [404])).status !== 404,
      find: (excludedIds) => findHook(SERVICE, call, { pages: pagesOf(send), excludedIds }),
    });
  },
};

/** Sends a request about the hooks of the repository. Statuses other than 2xx and `accepted` are errors. */
type Send = (
  request: Pick<HookRequest, 'method' | 'path'> & { body?: JsonObject },
  accepted?: readonly number[],
) => Promise<HookResponse>;

function senderFor({ owner = '', repo = '' }: HookConfig, call: HookCall, token: string): Send {
  const base = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}/hooks`;
  const headers = {
    ...{ accept: 'application/vnd.github+json', authorization: `Bearer ${token}` },
    ...{ 'content-type': 'application/json', 'user-agent': 'heddle', 'x-github-api-version': '2022-11-28' },
  };
  return async ({ method, path, body }, accepted = []) => {
    const request = { method, path: base + path, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await hookRequest(SERVICE, call, request);
    if (response.status < 300 || accepted.includes(response.status)) return response;
    throw errorOf(response, call, `${owner}/${repo}`);
  };
}

function errorOf(response: HookResponse, call: HookCall, repository: string) {
  const { status } = response;
  if (status === 429 || (status === 403 && isRateLimited(response))) {
    const message = 'The rate limit of GitHub for this credential is reached.';
    const resetDelayMs = Number(headerOf(response, 'x-ratelimit-reset')) * 1000 - call.nowMs;
    const retryDelayMs = retryAfterMs(headerOf(response, 'retry-after'), call.nowMs) ?? 0;
    return hookFailedError(message, { retryAfterMs: [retryDelayMs, resetDelayMs].find((ms) => ms > 0) });
  }
  if (status === 403 || status === 404)
    return hookRefusedError(
      `The credential is not allowed to manage webhooks of ${repository} at GitHub: check the name of the repository, and give the credential the scope admin:repo_hook, or the permission Webhooks (read and write).`,
    );
  if (status === 422)
    return hookRefusedError(
      `GitHub refuses the webhook for ${repository}: check the URL of this server, and the number of webhooks there.`,
    );
  return hookStatusError(SERVICE, response, call);
}

function isRateLimited(response: HookResponse): boolean {
  return (
    headerOf(response, 'retry-after') !== undefined ||
    headerOf(response, 'x-ratelimit-remaining')?.trim() === '0'
  );
}

/** Yields the hooks of the repository, page by page. */
async function* pagesOf(send: Send): AsyncGenerator<ListedHook[]> {
  for (let page = 1; ; page += 1) {
    const { body } = await send({ method: 'GET', path: `?per_page=${PAGE_SIZE}&page=${page}` });
    const hooks = objectsIn(body);
    yield hooks.map(({ id, config = null }) => ({
      id,
      url: isJsonObject(config) ? own(config, 'url') : null,
    }));
    if (hooks.length < PAGE_SIZE) return;
  }
}
