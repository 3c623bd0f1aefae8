import { EngineError } from '@heddle/core';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** Memory of an idle worker, and of a cached workflow of about 200 blocks, in MiB. Measured: docs/temporal.md. */
const BASE_MIB = 400;
const WORKFLOW_MIB = 0.5;
/** Share of the V8 heap limit for cached workflows. The process dies if the heap reaches the limit. */
const HEAP_SHARE = 0.75;
const MAX_DEFAULT_CACHE_SIZE = 2000;
const MIN_DEFAULT_CACHE_SIZE = 50;
/** Minimum size of a configured cache: see `workflowCacheSize`. */
const MIN_CONFIGURED_CACHE_SIZE = 2;

/** Memory limits of a process, in MiB. */
export interface MemoryLimits {
  /** Memory of the machine or the container. */
  totalMiB: number;
  /** Limit of one V8 heap. Workflows have a separate heap. */
  heapMiB: number;
}

/** Returns the size of a worker's cache: `configuredSize`, or the number that memory allows. Throws OPTIONS_INVALID. */
export function workflowCacheSize(configuredSize: number | undefined): number {
  if (configuredSize === undefined) return defaultCacheSize();
  if (Number.isInteger(configuredSize) && configuredSize >= MIN_CONFIGURED_CACHE_SIZE) return configuredSize;
  // With a smaller cache, the SDK may evict a run during a workflow task and lose its local activities:
  // github.com/temporalio/sdk-rust/pull/1482.
  throw new EngineError(
    'OPTIONS_INVALID',
    `tuning.maxCachedWorkflows is ${configuredSize}. Use a whole number of at least ${MIN_CONFIGURED_CACHE_SIZE}, or leave it out.`,
  );
}

/** Returns the number of cached workflows that the memory allows. */
export function defaultCacheSize({ totalMiB, heapMiB }: MemoryLimits = readMemoryLimits()): number {
  const availableMiB = Math.min(totalMiB - BASE_MIB, heapMiB * HEAP_SHARE);
  return Math.max(
    MIN_DEFAULT_CACHE_SIZE,
    Math.min(MAX_DEFAULT_CACHE_SIZE, Math.floor(availableMiB / WORKFLOW_MIB)),
  );
}

function readMemoryLimits(): MemoryLimits {
  return { totalMiB: totalBytes() / 1048576, heapMiB: getHeapStatistics().heap_size_limit / 1048576 };
}

function totalBytes(): number {
  const machineBytes = totalmem();
  try {
    const limitBytes = Number(readFileSync('/sys/fs/cgroup/memory.max', 'utf8'));
    return Number.isFinite(limitBytes) ? Math.min(limitBytes, machineBytes) : machineBytes;
  } catch {
    // The system has no cgroup limit.
    return machineBytes;
  }
}
