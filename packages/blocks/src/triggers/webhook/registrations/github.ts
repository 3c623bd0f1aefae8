import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { parseRetryAfterMs } from '@heddle/core/fields';
import { headerOf } from '../../http.ts';
import { gitHubEventsOf } from '../providers.ts';
import {
  registrationFailedError,
  findRegistration,
  registrationIdOf,
  sendProviderRequest,
  registrationStatusError,
  objectsIn,
  PAGE_SIZE,
  registrationRefusedError,
  removeRegistration,
} from './registration.ts';
import type { WebhookRegistrationContext } from '@heddle/engine/triggers';
import type {
  ProviderResponse,
  RegistrationConfig,
  ProviderRequest,
  ProviderService,
  ListedRegistration,
  ProviderRegistrar,
} from './registration.ts';

// docs.github.com/rest/repos/webhooks

const SERVICE: ProviderService = { name: 'github', title: 'GitHub', baseUrl: 'https://api.github.com' };

/** The registrations of repositories. */
export const githubRegistrar: ProviderRegistrar = {
  locationOf: ({ owner = '', repo = '' }) => `${owner}/${repo}`.toLowerCase(),
  async activate(registration, context, eventNames) {
    const send = senderFor(registration, context, await context.credential(registration.credential));
    const config = { url: context.url, content_type: 'json', secret: context.secret, insecure_ssl: '0' };
    const settings = { active: true, events: gitHubEventsOf(eventNames), config };
    const recordedId = context.registrationId;
    if (recordedId !== undefined) {
      const updateResponse = await send({ method: 'PATCH', path: `/${recordedId}`, body: settings }, [404]);
      if (updateResponse.status !== 404) return { id: recordedId };
    }
    const foundId = await findRegistration(SERVICE, context, { pages: pagesOf(send) });
    if (foundId !== undefined) {
      await send({ method: 'PATCH', path: `/${foundId}`, body: settings });
      return { id: foundId };
    }
    const createResponse = await send({ method: 'POST', path: '', body: { name: 'web', ...settings } });
    return {
      id: registrationIdOf(
        SERVICE,
        isJsonObject(createResponse.body) ? createResponse.body['id'] : undefined,
      ),
    };
  },
  async deactivate(registration, context) {
    const send = senderFor(registration, context, await context.credential(registration.credential));
    await removeRegistration(context, {
      remove: async (id) => (await send({ method: 'DELETE', path: `/${id}` }, [404])).status !== 404,
      find: (excludedIds) => findRegistration(SERVICE, context, { pages: pagesOf(send), excludedIds }),
    });
  },
};

/**
 * Sends a request about the registrations of the repository. Statuses other than 2xx and `acceptedStatuses` are errors.
 */
type Send = (
  request: Pick<ProviderRequest, 'method' | 'path'> & { body?: JsonObject },
  acceptedStatuses?: readonly number[],
) => Promise<ProviderResponse>;

function senderFor(
  { owner = '', repo = '' }: RegistrationConfig,
  context: WebhookRegistrationContext,
  token: string,
): Send {
  const base = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}/hooks`;
  const headers = {
    ...{ accept: 'application/vnd.github+json', authorization: `Bearer ${token}` },
    ...{ 'content-type': 'application/json', 'user-agent': 'heddle', 'x-github-api-version': '2022-11-28' },
  };
  return async ({ method, path, body }, acceptedStatuses = []) => {
    const request = { method, path: base + path, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await sendProviderRequest(SERVICE, context, request);
    if (response.status < 300 || acceptedStatuses.includes(response.status)) return response;
    throw errorOf(response, context, `${owner}/${repo}`);
  };
}

function errorOf(response: ProviderResponse, context: WebhookRegistrationContext, repository: string) {
  const { status } = response;
  if (status === 429 || (status === 403 && isRateLimited(response))) {
    const message = 'The rate limit of GitHub for this credential is reached.';
    const resetDelayMs = Number(headerOf(response, 'x-ratelimit-reset')) * 1000 - context.nowMs;
    const retryDelayMs = parseRetryAfterMs(headerOf(response, 'retry-after'), context.nowMs) ?? 0;
    return registrationFailedError(message, {
      retryAfterMs: [retryDelayMs, resetDelayMs].find((ms) => ms > 0),
    });
  }
  if (status === 403 || status === 404)
    return registrationRefusedError(
      `The credential is not allowed to manage webhooks of ${repository} at GitHub: check the name of the repository, and give the credential the scope admin:repo_hook, or the permission Webhooks (read and write).`,
    );
  if (status === 422)
    return registrationRefusedError(
      `GitHub refuses the webhook for ${repository}: check the URL of this server, and the number of webhooks there.`,
    );
  return registrationStatusError(SERVICE, response, context);
}

function isRateLimited(response: ProviderResponse): boolean {
  return (
    headerOf(response, 'retry-after') !== undefined ||
    headerOf(response, 'x-ratelimit-remaining')?.trim() === '0'
  );
}

/** Yields the registrations of the repository, page by page. */
async function* pagesOf(send: Send): AsyncGenerator<ListedRegistration[]> {
  for (let page = 1; ; page += 1) {
    const { body } = await send({ method: 'GET', path: `?per_page=${PAGE_SIZE}&page=${page}` });
    const registrations = objectsIn(body);
    yield registrations.map(({ id, config = null }) => ({
      id,
      url: isJsonObject(config) ? getOwn(config, 'url') : null,
    }));
    if (registrations.length < PAGE_SIZE) return;
  }
}
