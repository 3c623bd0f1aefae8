import type { JsonObject } from '@heddle/core/blocks';
import type { ProviderName } from '../providers.ts';
import { githubHooks } from './github.ts';
import type { ProviderHook } from '@heddle/engine/triggers';
import type { HookConfig, ProviderHooks } from './hook.ts';
import { linearHooks } from './linear.ts';
import { stripeHooks } from './stripe.ts';
import { telegramHooks } from './telegram.ts';

/** The providers at which hooks are created. */
const HOOKS: { readonly [Name in ProviderName]?: ProviderHooks } = {
  github: githubHooks,
  linear: linearHooks,
  stripe: stripeHooks,
  telegram: telegramHooks,
};

/** Returns whether Heddle can create hooks at the provider. */
export function hasHooks(provider: ProviderName): boolean {
  return HOOKS[provider] !== undefined;
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
    return hook && `${provider} ${partsOf(config).hooks.locationOf(hook)}`;
  },
  activate(config, call) {
    const { hooks, hook, events } = partsOf(config);
    return hooks.activate(hook, call, events);
  },
  deactivate(config, call) {
    const { hooks, hook } = partsOf(config);
    return hooks.deactivate(hook, call);
  },
};

function configOf(config: JsonObject): HookFields {
  return config as unknown as HookFields;
}

function partsOf(config: JsonObject) {
  const { provider, hook, events } = configOf(config);
  const hooks = HOOKS[provider];
  if (!hooks || !hook) throw new TypeError(`The configuration of the trigger has no hook at ${provider}.`);
  return { hooks, hook, events };
}
