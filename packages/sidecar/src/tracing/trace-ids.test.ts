// SPDX-License-Identifier: Apache-2.0
import { seededRandom } from '@csi-sidecars/runtime/testing';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSampled, spanIdOf, traceIdOf, traceIdsOf } from './trace-ids.ts';

const uid = 'AAAAAAAA-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const traceId = 'aaaaaaaabbbb4ccc8dddeeeeeeeeeeee';
const subject = (more: { readonly uid?: string; readonly traceparent?: string } = {}) => ({
  uid,
  traceparent: undefined,
  ...more,
});
const otherTrace = '0af7651916cd43dd8448eb211c80319c';
const valid = `00-${otherTrace}-b7ad6b7169203331-01`;

describe('the id of a trace', () => {
  it('given the UID of an object, then the id is the UID without dashes', () => {
    expect(traceIdsOf(seededRandom(1), { traceIds: 'object' })(subject(), 's1')).toEqual({ traceId, links: [] });
  });

  it.each(['uid-of-a', '', '00000000-0000-0000-0000-000000000000'])(
    'given %o, which is no id of a trace, then the id is made of it and always the same',
    (text) => {
      expect(traceIdOf(text)).toMatch(/^[0-9a-f]{32}$/);
      expect(traceIdOf(text)).not.toMatch(/^0+$/);
      expect(traceIdOf(text)).toBe(traceIdOf(text));
    },
  );

  it('given runs of one object in the mode run, and runs without an object, then each has an id of its own', () => {
    const own = traceIdsOf(seededRandom(1), { traceIds: 'run' });
    const shared = traceIdsOf(seededRandom(2), { traceIds: 'object' });
    const ids = [own(subject(), 's'), own(subject(), 's'), shared(undefined, 's'), shared(undefined, 's')];
    expect(new Set(ids.map((each) => each.traceId)).size).toBe(4);
    expect(ids.map((each) => each.links)).toEqual([[], [], [], []]);
  });

  it('[explain#140] given an object that fails for weeks, then runs after the 200th have traces of their own, linked to its trace', () => {
    const next = traceIdsOf(seededRandom(1), { traceIds: 'object' });
    const runs = Array.from({ length: 202 }, (_, index) => next(subject(), `span-${index}`));
    expect(new Set(runs.slice(0, 200).map((run) => run.traceId))).toEqual(new Set([traceId]));
    const later = runs.slice(200);
    expect(new Set([traceId, ...later.map((run) => run.traceId)]).size).toBe(3);
    expect(later.map((run) => run.links)).toEqual(later.map(() => [{ traceId, spanId: 'span-199' }]));
    expect(next(subject({ uid: 'another' }), 's').links).toEqual([]);
  });

  it('given more objects than are remembered, then the one whose last run is longest ago is forgotten first', () => {
    const next = traceIdsOf(seededRandom(1), { traceIds: 'object', maxRuns: 1, maxObjects: 2 });
    const isFirst = (id: string) => next(subject({ uid: id }), 's').traceId === traceIdOf(id);
    expect(['a', 'b', 'a', 'c', 'a', 'b'].map(isFirst)).toEqual([true, true, false, true, false, true]);
  });
});

describe('a link', () => {
  const linksOf = (traceparent: string) =>
    traceIdsOf(seededRandom(1), { traceIds: 'object' })(subject({ traceparent }), 's').links;

  it('[explain#138] given an object with a valid trace context in its annotation, then the run has a link to it, and its own trace', () => {
    const started = traceIdsOf(seededRandom(1), { traceIds: 'object' })(subject({ traceparent: valid }), 's');
    expect(started).toEqual({ traceId, links: [{ traceId: otherTrace, spanId: 'b7ad6b7169203331' }] });
  });

  it.each([
    '',
    'x',
    valid.toUpperCase(),
    ` ${valid}`,
    `${valid}\n`,
    `01${valid.slice(2)}`,
    valid.replace(otherTrace, '0'.repeat(32)),
    valid.replace('b7ad6b7169203331', '0'.repeat(16)),
    `${valid}-more`,
    valid + 'x'.repeat(1 << 20),
  ])('[explain#138] given an annotation that is no trace context, then there is no link (%#)', (text) => {
    expect(linksOf(text)).toEqual([]);
  });
});

describe('sampling', () => {
  it('given the same id, then every ratio above one that samples it samples it too', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.double({ min: 0, max: 1, noNaN: true }), (id, ratio) => {
        const trace = traceIdOf(id);
        return !isSampled(trace, ratio) || isSampled(trace, Math.min(1, ratio + 0.1));
      }),
    );
  });

  it('given the ratios 0 and 1 and the extreme ids, then none is sampled, and all are', () => {
    const ids = [`${'a'.repeat(18)}${'0'.repeat(14)}`, `${'a'.repeat(18)}${'f'.repeat(14)}`];
    expect(ids.map((id) => isSampled(id, 0))).toEqual([false, false]);
    expect(ids.map((id) => isSampled(id, 1))).toEqual([true, true]);
  });

  it('given random UIDs and a ratio of 0.1, then about a tenth is sampled', () => {
    const random = seededRandom(7);
    const sampled = Array.from({ length: 5_000 }, () => traceIdOf(random.uuid())).filter((id) => isSampled(id, 0.1));
    expect(sampled.length).toBeGreaterThan(400);
    expect(sampled.length).toBeLessThan(600);
  });

  it('given ids of spans, then each is eight bytes and another one', () => {
    const random = seededRandom(3);
    const ids = Array.from({ length: 100 }, () => spanIdOf(random));
    expect(ids.every((id) => /^[0-9a-f]{16}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(100);
  });
});
