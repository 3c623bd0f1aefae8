import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { linearTypesOf } from '../providers.ts';
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
  registrationResponseError,
} from './registration.ts';
import type { WebhookRegistrationContext } from '@heddle/engine/triggers';
import type {
  ProviderResponse,
  RegistrationConfig,
  ProviderService,
  ListedRegistration,
  ProviderRegistrar,
} from './registration.ts';

// linear.app/developers/webhooks, linear.app/developers/graphql

const SERVICE: ProviderService = { name: 'linear', title: 'Linear', baseUrl: 'https://api.linear.app' };
/** Personal keys are sent unchanged, access tokens with `Bearer`. */
const PERSONAL_KEY_PREFIX = 'lin_api_';
const REFUSED_MESSAGE = 'Linear refuses the webhook: check the team, and the URL of this server.';

const LIST_QUERY = `query($first: Int!, $after: String) {
  webhooks(first: $first, after: $after) { nodes { id url team { id } } pageInfo { hasNextPage endCursor } }
}`;
const CREATE_MUTATION = `mutation($input: WebhookCreateInput!) {
  webhookCreate(input: $input) { success webhook { id } }
}`;
const UPDATE_MUTATION = `mutation($id: String!, $input: WebhookUpdateInput!) {
  webhookUpdate(id: $id, input: $input) { success webhook { id } }
}`;
const DELETE_MUTATION = 'mutation($id: String!) { webhookDelete(id: $id) { success } }';

/** The webhooks of a team, or of all public teams. */
export const linearRegistrar: ProviderRegistrar = {
  locationOf: ({ credential, teamId = '' }) => `${credential} ${teamId}`,
  async activate(registration, context, eventNames) {
    const sendQuery = querySenderFor(context, await context.credential(registration.credential));
    const settings = {
      url: context.url,
      secret: context.secret,
      enabled: true,
      resourceTypes: linearTypesOf(eventNames),
    };
    const recordedId = context.registrationId;
    if (recordedId !== undefined && (await sendQuery(UPDATE_MUTATION, { id: recordedId, input: settings })))
      return { id: recordedId };
    const foundId = await findRegistration(SERVICE, context, { pages: pagesOf(sendQuery, registration) });
    if (foundId !== undefined && (await sendQuery(UPDATE_MUTATION, { id: foundId, input: settings })))
      return { id: foundId };
    const input = { ...settings, label: 'Heddle', ...teamOf(registration) };
    const createData = await sendQuery(CREATE_MUTATION, { input });
    if (!createData) throw registrationRefusedError(REFUSED_MESSAGE);
    return { id: registrationIdOf(SERVICE, objectAt(createData, 'webhookCreate', 'webhook')['id']) };
  },
  async deactivate(registration, context) {
    const sendQuery = querySenderFor(context, await context.credential(registration.credential));
    await removeRegistration(context, {
      remove: async (id) => (await sendQuery(DELETE_MUTATION, { id })) !== undefined,
      find: (excludedIds) =>
        findRegistration(SERVICE, context, { pages: pagesOf(sendQuery, registration), excludedIds }),
    });
  },
};

function teamOf({ teamId }: RegistrationConfig): JsonObject {
  return teamId === undefined ? { allPublicTeams: true } : { teamId };
}

/** Sends a query. Returns the data of the response; undefined if the entity does not exist. */
type SendQuery = (query: string, variables: JsonObject) => Promise<JsonObject | undefined>;

function querySenderFor(context: WebhookRegistrationContext, key: string): SendQuery {
  const headers = {
    authorization: key.startsWith(PERSONAL_KEY_PREFIX) ? key : `Bearer ${key}`,
    'content-type': 'application/json',
  };
  return async (query, variables) => {
    const body = JSON.stringify({ query, variables });
    const response = await sendProviderRequest(SERVICE, context, {
      method: 'POST',
      path: '/graphql',
      headers,
      body,
    });
    return dataOf(response, context);
  };
}

/** Returns the data of a response; undefined if the entity does not exist. GraphQL errors have status 200 or 400. */
function dataOf(response: ProviderResponse, context: WebhookRegistrationContext): JsonObject | undefined {
  const { status, body } = response;
  const { errors = null, data = null } = isJsonObject(body) ? body : {};
  const [error] = objectsIn(errors);
  if (error) {
    if (stringOrEmpty(error['message']).includes('Entity not found')) return undefined;
    throw errorOf(stringOrEmpty(objectAt(error, 'extensions')['code']));
  }
  if (status !== 200) throw registrationStatusError(SERVICE, response, context);
  if (!isJsonObject(data)) throw registrationResponseError(SERVICE);
  return data;
}

function errorOf(code: string) {
  if (code === 'RATELIMITED')
    return registrationFailedError('The rate limit of Linear for this credential is reached.');
  if (code === 'AUTHENTICATION_ERROR')
    return registrationRefusedError('Linear does not accept the credential.');
  if (code === 'FORBIDDEN')
    return registrationRefusedError(
      'The credential is not allowed to manage webhooks at Linear: give it the scope admin.',
    );
  if (code === 'INTERNAL_SERVER_ERROR') return registrationFailedError('Linear reported an internal error.');
  return registrationRefusedError(REFUSED_MESSAGE);
}

/**
 * Yields the webhooks of the team, page by page. Webhooks of other teams are omitted, because an update cannot move a
 * webhook to another team.
 */
async function* pagesOf(
  sendQuery: SendQuery,
  { teamId }: RegistrationConfig,
): AsyncGenerator<ListedRegistration[]> {
  for (let after: Json = null; ;) {
    const list = objectAt((await sendQuery(LIST_QUERY, { first: PAGE_SIZE, after })) ?? {}, 'webhooks');
    const teamRegistrations = objectsIn(list['nodes']).filter(
      (node) => objectAt(node, 'team')['id'] === teamId,
    );
    yield teamRegistrations.map(({ id, url }) => ({ id, url }));
    const { hasNextPage, endCursor = null } = objectAt(list, 'pageInfo');
    if (hasNextPage !== true) return;
    after = endCursor;
  }
}

function objectAt(value: JsonObject, ...path: readonly string[]): JsonObject {
  let current = value;
  for (const name of path) {
    const next = getOwn(current, name) ?? null;
    current = isJsonObject(next) ? next : {};
  }
  return current;
}

function stringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
