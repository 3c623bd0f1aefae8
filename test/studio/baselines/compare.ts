import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pixelmatch from 'pixelmatch';
import type { Browser, Page } from 'playwright-core';
import { PNG } from 'pngjs';

/** The folder of the baselines, and of the file that names the system on which they were created. */
export const FOLDER = import.meta.dirname;
export const SYSTEM_FILE = join(FOLDER, 'system.json');

/** The properties of a system that affect how a browser draws text. */
export interface System {
  platform: string;
  chromium: string;
  /** The fonts in which the text of the pages is drawn. */
  fonts: string[];
}

/** Returns the properties of the system that draws this page. */
export async function readSystem(browser: Browser, page: Page): Promise<System> {
  const session = await page.context().newCDPSession(page);
  await session.send('DOM.enable');
  await session.send('CSS.enable');
  const { root } = await session.send('DOM.getDocument');
  const elements = await session.send('DOM.querySelectorAll', { nodeId: root.nodeId, selector: 'bdi, time' });
  const fonts: string[] = [];
  for (const nodeId of elements.nodeIds) {
    const platformFonts = await session.send('CSS.getPlatformFontsForNode', { nodeId });
    fonts.push(...platformFonts.fonts.map(({ familyName }) => familyName));
  }
  await session.detach();
  return {
    platform: `${process.platform}-${process.arch}`,
    chromium: browser.version(),
    fonts: [...new Set(fonts)].toSorted(),
  };
}

/** Returns the reason why the baselines cannot be compared on this system; undefined if they can. */
export function findSystemMismatch(system: System): string | undefined {
  const baselineSystem = JSON.parse(readFileSync(SYSTEM_FILE, 'utf8')) as System;
  if (JSON.stringify(baselineSystem) === JSON.stringify(system)) return undefined;
  const [baselineDescription, currentDescription] = [describeSystem(baselineSystem), describeSystem(system)];
  return `the images of components were created on ${baselineDescription}, and this system is ${currentDescription}`;
}

function describeSystem({ platform, chromium, fonts }: System): string {
  return `${platform}, Chromium ${chromium}, ${fonts.join(', ')}`;
}

/**
 * Returns the number of pixels in which two PNG images differ; undefined if their sizes differ. Anti-aliased pixels do
 * not count.
 */
export function countDifferingPixels(firstPng: Buffer, secondPng: Buffer): number | undefined {
  const [a, b] = [PNG.sync.read(firstPng), PNG.sync.read(secondPng)];
  if (a.width !== b.width || a.height !== b.height) return undefined;
  return pixelmatch(roundChannels(a.data), roundChannels(b.data), undefined, a.width, a.height, {
    threshold: 0.05,
  });
}

/** Returns the image as a small PNG: without transparency, and with fewer colours on the edges of letters. */
export function compress(png: Buffer): Buffer {
  const image = PNG.sync.read(png);
  roundChannels(image.data);
  return PNG.sync.write(image, { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 });
}

/** Rounds the channels of an image in place to multiples of 8, which is not visible. Returns the channels. */
function roundChannels(channels: Uint8Array): Uint8Array {
  for (const [index, value] of channels.entries()) channels[index] = Math.min(Math.round(value / 8) * 8, 255);
  return channels;
}
