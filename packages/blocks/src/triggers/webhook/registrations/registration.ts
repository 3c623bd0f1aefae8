import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { isRetryableStatus, parseJson, parseRetryAfterMs } from '@heddle/core/fields';
import type { ActiveWebhookRegistration, WebhookRegistrationContext } from '@heddle/engine/triggers';
import { headerOf } from '../../http.ts';

/** Where, and with which credential, Heddle creates the webhook of a trigger at a provider. Plain JSON. */
export interface RegistrationConfig {
  /** Id of a stored credential. */
  credential: string;
  owner?: string;
  repo?: string;
  teamId?: string;
}

/** The registrations of one provider. */
export interface ProviderRegistrar {
  /**
   * Returns text that identifies the location of the registration, such as a repository. Each location has its own
   * registration.
   */
  locationOf(registration: RegistrationConfig): string;
  /** `events`: the events that start runs; undefined: all. */
  activate(
    registration: RegistrationConfig,
    context: WebhookRegistrationContext,
    events: readonly string[] | undefined,
  ): Promise<ActiveWebhookRegistration>;
  deactivate(registration: RegistrationConfig, context: WebhookRegistrationContext): Promise<void>;
}

/** Maximum number of pages that are read from a provider's list of registrations. */
const MAX_PAGES = 20;
/** Number of entries in a page. */
export const PAGE_SIZE = 100;

/**
 * Time limit of a request, so that a provider that does not respond delays the webhooks of other providers by at most
 * this time.
 */
const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 2 * 2 ** 20;

/** Returns the error for a registration that a provider refuses. It is not retryable. */
export function registrationRefusedError(message: string): BlockError {
  return new BlockError('HOOK_FAILED', message, { retryable: false });
}

/** Returns the error for a call that can be retried. */
export function registrationFailedError(
  message: string,
  options: { retryAfterMs?: number | undefined; cause?: unknown } = {},
): BlockError {
  const { retryAfterMs: delayMs, cause } = options;
  return new BlockError('HOOK_FAILED', message, {
    ...{ retryable: true, cause },
    ...(delayMs !== undefined && { retryAfterMs: delayMs }),
  });
}

/** Returns the error for a response of a provider that is not as documented. */
export function registrationResponseError({ title }: ProviderService): BlockError {
  return registrationFailedError(`${title} sent a response that cannot be read.`);
}

/** The service of a provider at which registrations are created. */
export interface ProviderService {
  /** Its name in the configuration of the operator. */
  name: string;
  /** Its name in messages. */
  title: string;
  /** The base URL. */
  baseUrl: string;
}

export interface ProviderRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  headers?: { readonly [name: string]: string };
  body?: string;
}

/** The response of a provider; `body` is null if it is not JSON. */
export interface ProviderResponse {
  status: number;
  headers: [name: string, value: string][];
  body: Json;
}

/**
 * Sends a request to a provider. Redirects are not followed: the credential could reach another server. Throws a
 * BlockError that shows only the host of the request.
 */
export async function sendProviderRequest(
  { name, title, baseUrl }: ProviderService,
  context: WebhookRegistrationContext,
  { path, ...request }: ProviderRequest,
): Promise<ProviderResponse> {
  const { baseUrl: base = baseUrl, http } = await context.service(name);
  const url = base.replace(/\/+$/, '') + path;
  try {
    const response = await http.fetch({
      ...{ ...request, url, signal: context.signal, redirect: 'manual' },
      ...{ timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES },
    });
    const body = parseJson(new TextDecoder().decode(response.body)) ?? null;
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    context.signal.throwIfAborted();
    // The message of the client is not shown, because it can contain a URL with a credential.
    throw registrationFailedError(`${title} could not be reached.`, { cause: error });
  }
}

/**
 * Returns the error for an unsuccessful status. It contains no text from the provider, which could repeat a credential.
 */
export function registrationStatusError(
  { title }: ProviderService,
  response: ProviderResponse,
  context: WebhookRegistrationContext,
): BlockError {
  const { status } = response;
  if (status === 401) return registrationRefusedError(`${title} does not accept the credential.`);
  const message = `${title} responded with the status ${status}.`;
  if (!isRetryableStatus(status)) return registrationRefusedError(message);
  return registrationFailedError(message, {
    retryAfterMs: parseRetryAfterMs(headerOf(response, 'retry-after'), context.nowMs),
  });
}

/** Returns the objects of a list; none for another value. */
export function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns an id that can be part of a path. Throws a BlockError for another value. */
export function registrationIdOf(service: ProviderService, value: Json | undefined): string {
  const id = typeof value === 'number' ? String(value) : value;
  if (typeof id === 'string' && /^[\w-]{1,128}$/.test(id)) return id;
  throw registrationResponseError(service);
}

/** A registration in a list of the provider. */
export type ListedRegistration = { id: Json | undefined; url: Json | undefined };

/**
 * Returns the id of the first registration that has the trigger's URL and is not in `excludedIds`; undefined if none
 * does.
 */
export async function findRegistration(
  service: ProviderService,
  { url }: WebhookRegistrationContext,
  {
    pages,
    excludedIds = [],
  }: { pages: AsyncIterable<readonly ListedRegistration[]>; excludedIds?: readonly string[] },
): Promise<string | undefined> {
  let pageCount = 0;
  for await (const page of pages) {
    const ids = page
      .filter((registration) => registration.url === url)
      .map(({ id }) => registrationIdOf(service, id));
    const foundId = ids.find((id) => !excludedIds.includes(id));
    pageCount += 1;
    if (foundId !== undefined || pageCount === MAX_PAGES) return foundId;
  }
  return undefined;
}

/**
 * Removes the trigger's registration. `remove` returns false for a registration that does not exist. `find` returns the
 * id of a registration that has the trigger's URL and is not in `excludedIds`.
 */
export async function removeRegistration(
  { registrationId, otherRegistrationIds }: WebhookRegistrationContext,
  {
    remove,
    find,
  }: {
    remove: (id: string) => Promise<boolean>;
    find: (excludedIds: readonly string[]) => Promise<string | undefined>;
  },
): Promise<void> {
  if (registrationId !== undefined && (await remove(registrationId))) return;
  // A process that died before it recorded the id may have created the registration again.
  const foundId = await find(otherRegistrationIds);
  if (foundId !== undefined) await remove(foundId);
}
