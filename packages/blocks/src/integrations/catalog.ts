import type { Integration } from './integration.ts';

type Loader = () => Promise<{ integration: Integration }>;

/** The integrations by the types of their blocks. Each is loaded at its first use. */
const LOADERS: { readonly [type: string]: Loader } = {
  ...loadersOf(['airtable'], () => import('./airtable.ts')),
  ...loadersOf(['firecrawl'], () => import('./firecrawl.ts')),
  ...loadersOf(['github', 'github_v2'], () => import('./github.ts')),
  ...loadersOf(['gmail', 'gmail_v2'], () => import('./gmail.ts')),
  ...loadersOf(['google_calendar', 'google_calendar_v2'], () => import('./google-calendar.ts')),
  ...loadersOf(['google_sheets', 'google_sheets_v2'], () => import('./google-sheets.ts')),
  ...loadersOf(['linear'], () => import('./linear.ts')),
  ...loadersOf(['linkedin'], () => import('./linkedin.ts')),
  ...loadersOf(['mistral_parse', 'mistral_parse_v2', 'mistral_parse_v3'], () => import('./mistral-parse.ts')),
  ...loadersOf(['notion', 'notion_v2'], () => import('./notion.ts')),
  ...loadersOf(['reddit'], () => import('./reddit.ts')),
  ...loadersOf(['slack'], () => import('./slack.ts')),
  ...loadersOf(['x'], () => import('./x.ts')),
  ...loadersOf(['discord'], () => import('./discord.ts')),
  ...loadersOf(['exa'], () => import('./exa.ts')),
  ...loadersOf(['google_drive'], () => import('./google-drive.ts')),
  ...loadersOf(['hubspot'], () => import('./hubspot.ts')),
  ...loadersOf(['jira'], () => import('./jira.ts')),
  ...loadersOf(['resend'], () => import('./resend.ts')),
  ...loadersOf(['stripe'], () => import('./stripe.ts')),
  ...loadersOf(['supabase'], () => import('./supabase.ts')),
  ...loadersOf(['telegram'], () => import('./telegram.ts')),
  ...loadersOf(['tavily'], () => import('./tavily.ts')),
};

function loadersOf(types: readonly string[], load: Loader): { [type: string]: Loader } {
  return Object.fromEntries(types.map((type) => [type, load]));
}

/** Block types that are integrations. */
export const integrationTypes: readonly string[] = Object.keys(LOADERS);

/** Returns the integration of a block type; undefined if there is none. */
export async function integrationOf(type: string): Promise<Integration | undefined> {
  const load = Object.hasOwn(LOADERS, type) ? LOADERS[type] : undefined;
  return (await load?.())?.integration;
}
