import type { JsonObject } from '@heddle/core/blocks';
import type { ProviderName } from '../providers.ts';
import { githubHooks } from './github.ts';
import type { ProviderHook } from '@heddle/engine/triggers';
import type { HookConfig, ProviderHooks } from './hook.ts';
import { linearHooks } from './linear.ts';
import { stripeHooks } from './stripe.ts';
import { telegramHooks } from './telegram.ts';

/** The providers at which hooks are created. */
const PROVIDER_HOOKS: { readonly [Name in ProviderName]?: ProviderHooks } = {
  github: githubHooks,
  linear: linearHooks,
  stripe: stripeHooks,
  telegram: telegramHooks,
};

/** Returns whether Heddle can create hooks at the provider. */
export function canCreateHooks(provider: ProviderName): boolean {
  return PROVIDER_HOOKS[provider] !== undefined;
}

/** The part of a webhook's configuration that is needed for its hook. */
interface HookFields {
  provider: ProviderName;
  events?: readonly string[];
  hook?: HookConfig;
}

/** Creates and removes hooks according to the configuration of a webhook. */
export const providerHook: ProviderHook = {
  locationOf(config) {
    const { provider, hook } = configOf(config);
    return hook && `${provider} ${resolveHook(config).providerHooks.locationOf(hook)}`;
  },
  activate(config, context) {
    const { providerHooks, hook, events } = resolveHook(config);
    return providerHooks.activate(hook, context, events);
  },
  deactivate(config, context) {
    const { providerHooks, hook } = resolveHook(config);
    return providerHooks.deactivate(hook, context);
  },
};

function configOf(config: JsonObject): HookFields {
  return config as unknown as HookFields;
}

function resolveHook(config: JsonObject) {
  const { provider, hook, events } = configOf(config);
  const providerHooks = PROVIDER_HOOKS[provider];
  if (!providerHooks || !hook)
    throw new TypeError(`The configuration of the trigger has no hook at ${provider}.`);
  return { providerHooks, hook, events };
}
