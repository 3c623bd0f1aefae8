import { Parser } from 'htmlparser2';
import type { JsonObject } from '@heddle/core/blocks';
import { feedError } from '../feed.ts';

/** Maximum number of items of a document that are read: the first ones. */
export const MAX_ITEMS = 1000;
const MAX_DEPTH = 64;
/** Maximum number of characters of one element of an item. Longer text is truncated. */
const MAX_TEXT_CHARS = 200_000;
/** Maximum number of elements of one item that are read, such as categories. */
const MAX_ITEM_ELEMENTS = 200;
/** Characters that are parsed before the parser yields to the event loop. */
const CHUNK_CHARS = 65_536;

/** An item as in the document. */
export interface ParsedItem {
  id: string;
  title?: string;
  link?: string;
  summary?: string;
  content?: string;
  author?: string;
  /** The date as written in the document. */
  date?: string;
  categories: string[];
  enclosure?: JsonObject;
}

/** A parsed RSS or Atom document. */
export interface ParsedFeed {
  title?: string;
  link?: string;
  description?: string;
  items: ParsedItem[];
}

interface Element {
  /** The name in lower case, without the prefix `atom:`. Other prefixes, such as those of RSS modules, are kept. */
  name: string;
  attributes: { readonly [name: string]: string };
  text: string;
  /** True if it contains XHTML, of which only the text is kept. */
  hasMarkup: boolean;
}

/** Elements of an item or feed that are read, with the field that they fill. Names are in lower case. */
const TEXT_FIELDS: { readonly [name: string]: 'title' | 'summary' | 'content' | 'author' | 'date' } = {
  title: 'title',
  description: 'summary',
  subtitle: 'summary',
  summary: 'summary',
  content: 'content',
  'content:encoded': 'content',
  author: 'author',
  'dc:creator': 'author',
  pubdate: 'date',
  published: 'date',
  updated: 'date',
  'dc:date': 'date',
};

const ITEM_ELEMENTS: ReadonlySet<string> = new Set(['item', 'entry']);
const ROOT_ELEMENTS: ReadonlySet<string> = new Set(['rss', 'rdf:rdf', 'feed', 'atom:feed']);

type Fields = Omit<ParsedItem, 'id' | 'categories'> & {
  guid?: string;
  categories: string[];
  elementCount: number;
};

/**
 * Returns the feed that a document of RSS (0.9 to 2.0) or Atom describes. Entities that the document declares are
 * not expanded, and nothing is loaded. Yields to the event loop, and reads no more than its limits allow. Throws a
 * BlockError for other documents.
 */
export async function parseFeed(xml: string): Promise<ParsedFeed> {
  const reader = new FeedReader();
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.open(name.toLowerCase(), attributes),
      ontext: (text) => reader.addText(text),
      onclosetag: () => reader.close(),
    },
    { xmlMode: true, decodeEntities: true },
  );
  for (let offset = 0; offset < xml.length && !reader.isFull; offset += CHUNK_CHARS) {
    parser.write(xml.slice(offset, offset + CHUNK_CHARS));
    if (reader.problem !== undefined) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (reader.problem === undefined && !reader.isFull) parser.end();
  const problem = reader.problem ?? (reader.isFeed ? undefined : 'is neither RSS nor Atom');
  if (problem !== undefined) throw feedError(`The document ${problem}.`);
  return reader.toFeed();
}

class FeedReader {
  problem: string | undefined;
  isFeed = false;
  readonly #openElements: Element[] = [];
  readonly #items: Fields[] = [];
  readonly #feedFields: Fields = { categories: [], elementCount: 0 };
  #item: Fields | undefined;

  get isFull(): boolean {
    return this.#items.length >= MAX_ITEMS;
  }

  open(name: string, attributes: Element['attributes']): void {
    if (this.problem !== undefined || this.isFull) return;
    if (this.#openElements.length === 0 && ROOT_ELEMENTS.has(name)) this.isFeed = true;
    else if (this.#openElements.length === 0) this.problem = 'is neither RSS nor Atom';
    if (this.#openElements.length >= MAX_DEPTH) this.problem = `is nested more than ${MAX_DEPTH} levels deep`;
    const localName = name.replace(/^atom:/, '');
    if (!this.#item && this.#isItem(localName)) this.#item = { categories: [], elementCount: 0 };
    const element = { name: localName, attributes, text: '', hasMarkup: attributes['type'] === 'xhtml' };
    this.#openElements.push(element);
  }

  /** True for an item below the feed or its channel, not for an element of this name deeper inside. */
  #isItem(name: string): boolean {
    return ITEM_ELEMENTS.has(name) && this.#openElements.length >= 1 && this.#openElements.length <= 2;
  }

  addText(text: string): void {
    // Text inside markup belongs to the element that contains the markup.
    const element = this.#openElements.findLast(({ hasMarkup }) => hasMarkup) ?? this.#openElements.at(-1);
    if (!element) return;
    element.text += text.slice(0, MAX_TEXT_CHARS - element.text.length);
  }

  close(): void {
    const element = this.#openElements.pop();
    if (!element || this.problem !== undefined || this.isFull) return;
    if (this.#item && this.#isItem(element.name)) {
      this.#items.push(this.#item);
      this.#item = undefined;
      return;
    }
    const parent = this.#openElements.at(-1);
    if (parent?.name === 'author' && element.name === 'name') parent.text = element.text;
    else if (parent) this.#fill(element, parent);
  }

  #fill(element: Element, parent: Element): void {
    const target = this.#item ?? this.#feedFields;
    const isDirectChild = this.#item
      ? ITEM_ELEMENTS.has(parent.name)
      : this.#openElements.length <= 2 && parent.name !== 'image';
    if (!isDirectChild || target.elementCount >= MAX_ITEM_ELEMENTS) return;
    target.elementCount += 1;
    fillField(target, element);
  }

  toFeed(): ParsedFeed {
    const { title, link, summary: description } = this.#feedFields;
    return {
      ...(title !== undefined && { title }),
      ...(link !== undefined && { link }),
      ...(description !== undefined && { description }),
      items: this.#items.flatMap(withId),
    };
  }
}

function fillField(target: Fields, { name, attributes, text }: Element): void {
  const value = text.trim();
  if (Object.hasOwn(TEXT_FIELDS, name)) fillText(target, name, value);
  else if (name === 'link') fillLink(target, attributes, value);
  else if (name === 'guid' || name === 'id') target.guid ??= value;
  else if (name === 'category') target.categories.push(attributes['term'] ?? value);
  else if (name === 'enclosure') target.enclosure ??= enclosureOf(attributes, attributes['url']);
}

/** Elements that take precedence over others for the same field, such as `published` over `updated`. */
const PREFERRED_ELEMENTS: ReadonlySet<string> = new Set(['published', 'pubdate', 'content:encoded']);

function fillText(target: Fields, name: string, value: string): void {
  const field = TEXT_FIELDS[name] as 'title';
  if (value !== '' && (target[field] === undefined || PREFERRED_ELEMENTS.has(name))) target[field] = value;
}

function fillLink(target: Fields, attributes: Element['attributes'], value: string): void {
  const { rel = 'alternate', href = value } = attributes;
  if (href === '') return;
  if (rel === 'enclosure') target.enclosure ??= enclosureOf(attributes, href);
  else if (rel === 'alternate') target.link ??= href;
}

function enclosureOf({ type, length }: Element['attributes'], url = ''): JsonObject {
  const bytes = Number(length);
  return {
    url,
    ...(type !== undefined && { type }),
    ...(Number.isSafeInteger(bytes) && length !== undefined && { length: bytes }),
  };
}

/** Returns the item with its id: its guid, its link, or its title and date. Drops an item without any of them. */
function withId({ guid, elementCount: _elementCount, ...item }: Fields): ParsedItem[] {
  const id = [guid, item.link, [item.title, item.date].join(' ').trim()].find(
    (candidate) => candidate !== undefined && candidate !== '',
  );
  return id === undefined ? [] : [{ id, ...item }];
}
