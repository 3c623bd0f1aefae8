import type { JsonObject } from '@heddle/core/blocks';
import type { ProviderName } from '../providers.ts';
import { githubRegistrar } from './github.ts';
import type { WebhookRegistrar } from '@heddle/engine/triggers';
import type { RegistrationConfig, ProviderRegistrar } from './registration.ts';
import { linearRegistrar } from './linear.ts';
import { stripeRegistrar } from './stripe.ts';
import { telegramRegistrar } from './telegram.ts';

/** The providers at which registrations are created. */
const PROVIDER_REGISTRARS: { readonly [Name in ProviderName]?: ProviderRegistrar } = {
  github: githubRegistrar,
  linear: linearRegistrar,
  stripe: stripeRegistrar,
  telegram: telegramRegistrar,
};

/** Returns whether Heddle can create registrations at the provider. */
export function canRegisterWebhooks(provider: ProviderName): boolean {
  return PROVIDER_REGISTRARS[provider] !== undefined;
}

/** The part of a webhook's configuration that is needed for its registration. */
interface RegistrationFields {
  provider: ProviderName;
  events?: readonly string[];
  hook?: RegistrationConfig;
}

/** Creates and removes registrations according to the configuration of a webhook. */
export const webhookRegistrar: WebhookRegistrar = {
  locationOf(config) {
    const { provider, hook } = configOf(config);
    return hook && `${provider} ${resolveRegistration(config).providerRegistrar.locationOf(hook)}`;
  },
  activate(config, context) {
    const { providerRegistrar, hook, events } = resolveRegistration(config);
    return providerRegistrar.activate(hook, context, events);
  },
  deactivate(config, context) {
    const { providerRegistrar, hook } = resolveRegistration(config);
    return providerRegistrar.deactivate(hook, context);
  },
};

function configOf(config: JsonObject): RegistrationFields {
  return config as unknown as RegistrationFields;
}

function resolveRegistration(config: JsonObject) {
  const { provider, hook, events } = configOf(config);
  const providerRegistrar = PROVIDER_REGISTRARS[provider];
  if (!providerRegistrar || !hook)
    throw new TypeError(`The configuration of the trigger has no registration at ${provider}.`);
  return { providerRegistrar, hook, events };
}
