import { isJsonObject } from '@heddle/core/blocks';
import {
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
  ProviderRequest,
  ProviderService,
  ListedRegistration,
  ProviderRegistrar,
} from './registration.ts';

// docs.stripe.com/api/webhook_endpoints

const SERVICE: ProviderService = { name: 'stripe', title: 'Stripe', baseUrl: 'https://api.stripe.com' };

/**
 * The webhook endpoints of an account. Stripe chooses their secrets, and shows each only when it creates the endpoint.
 */
export const stripeRegistrar: ProviderRegistrar = {
  locationOf: ({ credential }) => credential,
  async activate(registration, context, eventNames = ['*']) {
    const send = senderFor(context, await context.credential(registration.credential));
    const events: Form = eventNames.map((name) => ['enabled_events[]', name] as const);
    const recordedId = context.registrationId;
    if (recordedId !== undefined) {
      const form: Form = [['url', context.url], ['disabled', 'false'], ...events];
      const updateResponse = await send({ method: 'POST', path: `/${recordedId}`, form }, [404]);
      if (updateResponse.status !== 404) return { id: recordedId };
    }
    // If an unrecorded endpoint exists, the response with its secret was lost: it is deleted and created again.
    const foundId = await findRegistration(SERVICE, context, {
      pages: pagesOf(send),
      excludedIds: context.otherRegistrationIds,
    });
    if (foundId !== undefined) await send({ method: 'DELETE', path: `/${foundId}` }, [404]);
    const form: Form = [['url', context.url], ['description', 'Heddle'], ...events];
    const { body } = await send({ method: 'POST', path: '', form });
    const { id, secret } = isJsonObject(body) ? body : {};
    if (typeof secret !== 'string' || secret === '') throw registrationResponseError(SERVICE);
    return { id: registrationIdOf(SERVICE, id), secret };
  },
  async deactivate(registration, context) {
    const send = senderFor(context, await context.credential(registration.credential));
    await removeRegistration(context, {
      remove: async (id) => (await send({ method: 'DELETE', path: `/${id}` }, [404])).status !== 404,
      find: (excludedIds) => findRegistration(SERVICE, context, { pages: pagesOf(send), excludedIds }),
    });
  },
};

type Form = readonly (readonly [name: string, value: string])[];
/** Sends a request about webhook endpoints. Statuses other than 2xx and `acceptedStatuses` are errors. */
type Send = (
  request: Pick<ProviderRequest, 'method' | 'path'> & { form?: Form },
  acceptedStatuses?: readonly number[],
) => Promise<ProviderResponse>;

function senderFor(context: WebhookRegistrationContext, key: string): Send {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' };
  return async ({ method, path, form }, acceptedStatuses = []) => {
    const body = form && {
      body: new URLSearchParams(form.map(([name, value]): [string, string] => [name, value])).toString(),
    };
    const request = { method, path: `/v1/webhook_endpoints${path}`, headers, ...body };
    const response = await sendProviderRequest(SERVICE, context, request);
    if (response.status < 300 || acceptedStatuses.includes(response.status)) return response;
    if (response.status === 403)
      throw registrationRefusedError(
        'The credential is not allowed to manage webhook endpoints at Stripe: give the key the permission Webhook Endpoints (write).',
      );
    if (response.status === 400)
      throw registrationRefusedError(
        'Stripe refuses the webhook endpoint: check the URL of this server, the events, and the number of endpoints.',
      );
    throw registrationStatusError(SERVICE, response, context);
  };
}

/** Yields the endpoints of the account, page by page. */
async function* pagesOf(send: Send): AsyncGenerator<ListedRegistration[]> {
  for (let afterParameter = ''; ;) {
    const { body } = await send({ method: 'GET', path: `?limit=${PAGE_SIZE}${afterParameter}` });
    const { data = null, has_more: hasMore } = isJsonObject(body) ? body : {};
    const endpoints = objectsIn(data).map(({ id, url }) => ({ id, url }));
    yield endpoints;
    const last = endpoints.at(-1);
    if (hasMore !== true || !last) return;
    afterParameter = `&starting_after=${registrationIdOf(SERVICE, last.id)}`;
  }
}
