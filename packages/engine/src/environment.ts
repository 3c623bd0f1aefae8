/** A value of `{{NAME}}`: a text is a secret, `{ value, secret: false }` may be recorded and shown. */
export type EnvironmentValue = string | { value: string; secret: false };

/**
 * Where the environments of tenants are kept. Names may be listed anywhere; values are asked for only where a run of the
 * tenant begins, is taken up or runs a block that reads them. What it throws is reported, and callers see
 * ENVIRONMENT_UNAVAILABLE.
 */
export interface TenantEnvironments {
  /** Returns the names of the tenant's values. */
  names(this: void, tenant: string): Promise<readonly string[]> | readonly string[];
  /** Returns the values of those `names` that the tenant has, as they are now. */
  values(
    this: void,
    tenant: string,
    names: readonly string[],
  ): Promise<{ [name: string]: EnvironmentValue }> | { [name: string]: EnvironmentValue };
}
