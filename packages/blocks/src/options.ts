import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Credential } from '@heddle/engine';
import type { Prices } from './models/catalog.ts';
import type { ToolFile } from './openapi/file.ts';

/** Options of the blocks. */
export interface BlocksOptions {
  /** The model of blocks that name no model, such as agents. Default: none; such a block then fails. */
  defaultModel?: string;
  /** The fallback models, in this order, of blocks that list none. Models without a key are skipped. Default: none. */
  fallbackModels?: readonly string[];
  /**
   * Prices in dollars per million tokens, by `PROVIDER/MODEL`, or `PROVIDER/*` for the other models of a provider. They
   * override the prices of the model catalog.
   */
  prices?: { readonly [model: string]: Prices };
  /** Rate limits of each key of a provider, by provider. All processes of the engine share these limits. */
  rateLimits?: { readonly [provider: string]: ModelRateLimits };
  /**
   * Environment variables with the keys of providers (`OPENAI_API_KEY`, …), used if neither the engine, the block nor
   * the tenant has a key. Every workflow of the engine may use these keys. Default: none.
   */
  variables?: { readonly [name: string]: string | undefined };
  /** Tools of agents, in addition to their code tools. */
  tools?: readonly AgentTool[];
  /** Tools of services, as `importOpenApi` returns them. Files are checked when the first block uses them. */
  toolFiles?: readonly ToolFile[];
  /**
   * Options of MCP servers, by their names. For a server with the name NAME, the engine's service `mcp-NAME` has the
   * base URL. The key is the engine's credential `mcp-NAME`, or the tenant's stored credential of the provider
   * `mcp-NAME`.
   */
  mcp?: { readonly [server: string]: McpServerOptions };
}

/** Rate limits of each key of a provider. */
export interface ModelRateLimits {
  requestsPerMinute?: number;
  tokensPerMinute?: number;
}

/** Options of an MCP server. */
export interface McpServerOptions {
  /**
   * The command of a stdio server, instead of a base URL: the absolute path of a program, and its arguments. Each run
   * that uses the server starts the program without a shell. At the end of the run, Heddle closes its standard input,
   * and sends SIGTERM after two seconds and SIGKILL after four. The program is not in the sandbox: it has the
   * permissions of the engine's process.
   */
  command?: readonly [program: string, ...args: string[]];
  /** The environment of `command`. Default: empty. */
  env?: { readonly [name: string]: string };
  /** The names of the tools that workflows may call. Default: all. */
  tools?: readonly string[];
  /** The header for the key. Its value is the key alone. Default: `Authorization`, with the value `Bearer KEY`. */
  header?: string;
  /**
   * True: the server's annotations of its tools are trusted, so interrupted calls of idempotent tools are retried.
   * Default false.
   */
  trusted?: boolean;
  /**
   * True: a person approves each call of an agent, even if the agent's list of tools does not require it. Default
   * false.
   */
  requireApproval?: boolean;
}

/** A tool that agents can call. */
export interface AgentTool {
  /** The `type` of the tool in an agent's list (`slack`), or its `toolId` (`slack_message`). */
  id: string;
  /** The name for the model: letters, digits, `_` and `-`, up to 64. Default: the id. */
  name?: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: JsonObject;
  /** True: a call that was interrupted may be repeated. Default false: the model learns that the outcome is unknown. */
  idempotent?: boolean;
  /** True: a person approves each call, even if the agent's list of tools does not require it. Default false. */
  requireApproval?: boolean;
  /** Returns the result for the model. An error is a result too: the model reads its message. */
  run(args: JsonObject, call: AgentToolCall): Promise<Json>;
}

/** The context of a tool call. */
export interface AgentToolCall {
  /** Values that the author has set for the tool in the agent. The model does not see them. */
  params: JsonObject;
  /**
   * Returns the stored credential whose id the author has set in `params.credential`. Call it where the credential is
   * used: its secret is redacted in all data of the run, and an access token is refreshed if it expires soon. Throws
   * CREDENTIAL_UNKNOWN if there is no such credential.
   */
  credential(): Promise<Credential>;
  /** The same for all retries of the call. */
  idempotencyKey: string;
  /** Aborted at the block's timeout and when the run is cancelled. */
  signal: AbortSignal;
}
