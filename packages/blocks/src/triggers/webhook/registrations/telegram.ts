import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import {
  registrationFailedError,
  sendProviderRequest,
  registrationStatusError,
  registrationRefusedError,
} from './registration.ts';
import type { WebhookRegistrationContext } from '@heddle/engine/triggers';
import type { ProviderService, ProviderRegistrar } from './registration.ts';

// core.telegram.org/bots/api#setwebhook

const SERVICE: ProviderService = { name: 'telegram', title: 'Telegram', baseUrl: 'https://api.telegram.org' };
/** The token of a bot, which is part of the path of a request. */
const TOKEN = /^(\d{1,20}):[\w-]{1,128}$/;

/** The webhook of a bot. A bot has at most one. */
export const telegramRegistrar: ProviderRegistrar = {
  locationOf: ({ credential }) => credential,
  async activate(registration, context) {
    const { id, callMethod } = await botOf(registration.credential, context);
    const currentUrl = await webhookUrlOf(callMethod);
    if (currentUrl !== '' && currentUrl !== context.url && !context.formerUrls.includes(currentUrl))
      throw registrationRefusedError('The bot already has a webhook at another URL: remove it first.');
    await callMethod('setWebhook', { url: context.url, secret_token: context.secret });
    return { id };
  },
  async deactivate(registration, context) {
    const { callMethod } = await botOf(registration.credential, context);
    if ((await webhookUrlOf(callMethod)) === context.url) await callMethod('deleteWebhook', {});
  },
};

/** Calls a method of the bot. */
type CallMethod = (method: string, parameters: JsonObject) => Promise<unknown>;

async function botOf(
  credential: string,
  context: WebhookRegistrationContext,
): Promise<{ id: string; callMethod: CallMethod }> {
  const token = (await context.credential(credential)).trim();
  const [, id] = TOKEN.exec(token) ?? [];
  if (id === undefined)
    throw registrationRefusedError('The stored credential is not the token of a Telegram bot.');
  const headers = { 'content-type': 'application/json' };
  const callMethod: CallMethod = async (method, parameters) => {
    const path = `/bot${token}/${method}`;
    const body = JSON.stringify(parameters);
    const response = await sendProviderRequest(SERVICE, context, { method: 'POST', path, headers, body });
    const { ok, result, parameters: details = null } = isJsonObject(response.body) ? response.body : {};
    if (response.status === 200 && ok === true) return result;
    if (response.status === 404) throw registrationRefusedError('Telegram does not accept the credential.');
    if (response.status === 400)
      throw registrationRefusedError(
        'Telegram refuses the URL of this server: it must have https and the port 443, 80, 88 or 8443.',
      );
    const seconds = isJsonObject(details) ? Number(details['retry_after']) : NaN;
    if (response.status === 429 && seconds > 0)
      throw registrationFailedError('The rate limit of Telegram is reached.', {
        retryAfterMs: seconds * 1000,
      });
    throw registrationStatusError(SERVICE, response, context);
  };
  return { id, callMethod };
}

/** Returns the URL of the bot's webhook; an empty string if it has none. */
async function webhookUrlOf(callMethod: CallMethod): Promise<string> {
  const info = (await callMethod('getWebhookInfo', {})) as JsonObject | null | undefined;
  const url = info?.['url'];
  return typeof url === 'string' ? url : '';
}
