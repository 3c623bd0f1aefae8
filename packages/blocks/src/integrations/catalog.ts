import type { Integration } from './integration.ts';

type Load = () => Promise<{ integration: Integration }>;

/** The integrations by the types of their blocks. Each is loaded at its first use. */
const BY_TYPE: { readonly [type: string]: Load } = {
  ...typesOf(['airtable'], () => import('./airtable.ts')),
  ...typesOf(['firecrawl'], () => import('./firecrawl.ts')),
  ...typesOf(['github', 'github_v2'], () => import('./github.ts')),
  ...typesOf(['gmail', 'gmail_v2'], () => import('./gmail.ts')),
  ...typesOf(['google_calendar', 'google_calendar_v2'], () => import('./google-calendar.ts')),
  ...typesOf(['google_sheets', 'google_sheets_v2'], () => import('./google-sheets.ts')),
  ...typesOf(['linear'], () => import('./linear.ts')),
  ...typesOf(['linkedin'], () => import('./linkedin.ts')),
  ...typesOf(['mistral_parse', 'mistral_parse_v2', 'mistral_parse_v3'], () => import('./mistral-parse.ts')),
  ...typesOf(['notion', 'notion_v2'], () => import('./notion.ts')),
  ...typesOf(['reddit'], () => import('./reddit.ts')),
  ...typesOf(['slack'], () => import('./slack.ts')),
  ...typesOf(['x'], () => import('./x.ts')),
  ...typesOf(['discord'], () => import('./discord.ts')),
  ...typesOf(['exa'], () => import('./exa.ts')),
  ...typesOf(['google_drive'], () => import('./google-drive.ts')),
  ...typesOf(['hubspot'], () => import('./hubspot.ts')),
  ...typesOf(['jira'], () => import('./jira.ts')),
  ...typesOf(['resend'], () => import('./resend.ts')),
  ...typesOf(['stripe'], () => import('./stripe.ts')),
  ...typesOf(['supabase'], () => import('./supabase.ts')),
  ...typesOf(['telegram'], () => import('./telegram.ts')),
  ...typesOf(['tavily'], () => import('./tavily.ts')),
};

function typesOf(types: readonly string[], load: Load): { [type: string]: Load } {
  return Object.fromEntries(types.map((type) => [type, load]));
}

/** Block types that are integrations. */
export const integrationTypes: readonly string[] = Object.keys(BY_TYPE);

/** Returns the integration of a block type; undefined if there is none. */
export async function integrationOf(type: string): Promise<Integration | undefined> {
  const load = Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type] : undefined;
  return (await load?.())?.integration;
}
