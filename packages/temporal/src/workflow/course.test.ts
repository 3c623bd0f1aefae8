import type { Event, Region } from '@heddle/core/machine';
import { describe, expect, it } from 'vitest';
import { Course } from './course.ts';

const node = (id: string, ins: number[], outs: number[]): Region['nodes'][number] => ({
  id,
  kind: 'block',
  class: 'compute',
  ins: ins.map((from) => ({ from, port: 'source' })),
  outs,
  handlesError: false,
});

/** S → A, S → B. */
const FORK: Region = { nodes: [node('S', [], [1, 2]), node('A', [0], []), node('B', [0], [])], entries: [0] };
const STARTED = { type: 'started', atMs: 1, start: 0, graceMs: 0 } as const;

const done = (at: number[], atMs = 2): Event => ({ type: 'completed', at, atMs, attempt: 1 });
const tellOf = (id: string, events: Event[]) => ({ id, chunk: { v: events.map(() => ({})) }, events });

describe('the course of a run', () => {
  const begun = (): Course => {
    const course = new Course({ skeleton: FORK, begin: { started: STARTED } });
    course.begin(STARTED);
    return course;
  };

  it('gives what happens its place in the journal, behind the first entry', () => {
    const course = begun();
    expect(course.feed(tellOf('one', [done([0])])).seq).toBe(2);
    expect(course.feed(tellOf('two', [done([1]), done([2])])).seq).toBe(4);
    expect(course.position()).toMatchObject({
      seq: 4,
      tip: 'two',
      unwritten: [
        { seq: 2, id: 'one' },
        { seq: 3, id: 'two' },
      ],
    });
  });

  it('knows of a run that ends with its start', () => {
    const none: Region = { nodes: [], entries: [] };
    const loop = { ...node('L', [], []), kind: 'loop' as const, subflow: { body: none, count: 0, limit: 9 } };
    const course = new Course({ skeleton: { nodes: [loop], entries: [0] }, begin: { started: STARTED } });
    course.begin(STARTED);
    expect(course.end).toMatchObject({ status: 'completed' });
  });

  it('gives no place to what comes too late, and says which it was', () => {
    const course = begun();
    course.feed(tellOf('one', [done([0]), done([1])]));
    expect(course.feed(tellOf('late', [done([1])])).seq).toBe(0);
    expect(course.feed(tellOf('half', [done([1]), done([2])])).seq).toBe(4);
    expect(course.position().unwritten).toMatchObject([{ id: 'one' }, { id: 'half', seq: 4, skip: [0] }]);
  });

  it('owes what no later event of the same chunk has answered', () => {
    const course = begun();
    const { commands } = course.feed(tellOf('one', [done([0]), done([2])]));
    expect(commands.filter((command) => course.stands(command))).toEqual([{ type: 'run', at: [1], try: 1 }]);
  });

  it('forgets what is written, and weighs what is not', () => {
    const course = begun();
    course.feed(tellOf('one', [done([0])]));
    const position = course.position();
    course.feed(tellOf('two', [done([1])]));
    const { weight } = course;
    course.written(position);
    expect(course.position().unwritten).toMatchObject([{ id: 'two', seq: 3 }]);
    expect(course.weight).toBeGreaterThan(0);
    expect(course.weight).toBeLessThan(weight);
    course.written(course.position());
    expect([course.behind, course.weight]).toEqual([false, 0]);
  });

  it('goes on in another history as if it had not changed house', () => {
    const course = begun();
    course.feed(tellOf('one', [done([0], 7), done([1], 8)]));
    const carried = JSON.parse(JSON.stringify(course.carried())) as ReturnType<Course['carried']>;
    const next = new Course({ skeleton: FORK, begin: { carried } });
    expect(next.position()).toEqual({ seq: 3, tip: 'one', unwritten: [] });
    expect(next.feed(tellOf('two', [done([2])])).commands).toEqual([{ type: 'end', status: 'completed' }]);
    expect(next.end).toMatchObject({ status: 'completed' });
  });

  it('opens a pause point for the one who has its token, until it is answered', () => {
    const course = begun();
    course.feed(tellOf('one', [done([0])]));
    const paused: Event = { type: 'paused', at: [1], atMs: 3, attempt: 1, kind: 'human' };
    course.feed({ ...tellOf('two', [paused]), tokens: { 0: 'hash' } });
    expect([course.isOpen([1], 'hash'), course.isOpen([1], 'other'), course.isOpen([2], 'hash')]).toEqual([
      true,
      false,
      false,
    ]);
    course.feed(tellOf('three', [{ type: 'resumed', at: [1], atMs: 4 }]));
    expect(course.isOpen([1], 'hash')).toBe(false);
  });
});
