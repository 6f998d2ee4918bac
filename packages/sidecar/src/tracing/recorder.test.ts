// SPDX-License-Identifier: Apache-2.0
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { createRecorder, type RecordedRun } from './recorder.ts';

function setUp(samplingRatio = 1) {
  const clock = new FakeClock();
  const kept: RecordedRun[] = [];
  const tracer = createRecorder(
    { clock, random: seededRandom(1), keep: (run) => void kept.push(run) },
    { samplingRatio, traceIds: 'object', attributes: { 'csi_sidecars.controller': 'c' } },
  );
  const start = () => tracer.start('reconcile q', { a: 1, none: undefined }, { uid: 'u', traceparent: undefined })!;
  return { clock, kept, start };
}

it('given a run with a call, then both are recorded with their times, attributes and results, the call below the run', async () => {
  const { clock, kept, start } = setUp();
  const run = start();
  await clock.advance(5);
  const call = run.child('csi.v1.Controller/X', { b: 'x' })!;
  await clock.advance(7);
  call.set({ c: ['y'] });
  call.end('failed');
  await clock.advance(1);
  run.end('ended');
  const [recorded] = kept;
  const [root, child] = recorded?.spans ?? [];
  expect(root).toMatchObject({
    name: 'reconcile q',
    kind: 'internal',
    result: 'ended',
    attributes: { 'csi_sidecars.controller': 'c', a: 1 },
  });
  expect(Object.keys(root!.attributes)).toEqual(['csi_sidecars.controller', 'a']);
  expect(child).toMatchObject({
    name: 'csi.v1.Controller/X',
    kind: 'client',
    result: 'failed',
    parentId: root!.spanId,
    attributes: { b: 'x', c: ['y'] },
  });
  expect([root!.endMs - root!.startMs, child!.startMs - root!.startMs, child!.endMs - child!.startMs]).toEqual([
    13, 5, 7,
  ]);
  expect(call.traceparent).toBe(`00-${recorded!.traceId}-${child!.spanId}-01`);
  expect(run.traceparent).toBe(`00-${recorded!.traceId}-${root!.spanId}-01`);
});

describe('what is kept', () => {
  it('[explain#134] given a ratio of 0, then a run that fails is kept although its context says that it is not sampled', () => {
    const { kept, start } = setUp(0);
    const run = start();
    const call = run.child('call', {})!;
    expect([run.traceparent?.slice(-3), call.traceparent?.slice(-3)]).toEqual(['-00', '-00']);
    call.end('failed');
    run.end('failed');
    expect(kept[0]?.spans.map(({ name }) => name)).toEqual(['reconcile q', 'call']);
  });

  it.each([
    [10_000, 0],
    [10_001, 1],
  ])('[explain#134] given a ratio of 0 and a run of %i ms, then %i runs are kept', async (ms, runs) => {
    const { clock, kept, start } = setUp(0);
    const run = start();
    await clock.advance(ms);
    run.end('ended');
    expect(kept).toHaveLength(runs);
  });

  it('given a run that ends twice, or calls that end after it, then it is kept once, without them', () => {
    const { kept, start } = setUp();
    const run = start();
    const call = run.child('late', {})!;
    run.end('ended');
    call.set({ x: 1 });
    call.end('ended');
    run.set({ x: 1 });
    run.end('failed');
    expect(run.child('after', {})).toBe(undefined);
    expect(kept.map(({ spans }) => spans.map(({ name, result }) => [name, result]))).toEqual([
      [['reconcile q', 'ended']],
    ]);
    expect(kept[0]!.spans[0]!.attributes).not.toHaveProperty('x');
  });
});

describe('bounds', () => {
  it('given a run with more calls than are recorded, then it has 40 spans, its own included', () => {
    const { kept, start } = setUp();
    const run = start();
    const children = Array.from({ length: 60 }, () => run.child('call', {}));
    for (const child of children) child?.end('ended');
    run.end('ended');
    expect(children.filter((child) => child !== undefined)).toHaveLength(39);
    expect(kept[0]?.spans).toHaveLength(40);
  });

  it('given huge texts, then they are cut, and between two characters', () => {
    const { kept, start } = setUp();
    const run = start();
    run.set({ text: `a${'🙂'.repeat(1000)}`, list: ['b'.repeat(5000)] });
    run.end('ended');
    const { text, list } = kept[0]!.spans[0]!.attributes;
    expect((text as string).length).toBe(512);
    expect((text as string).isWellFormed()).toBe(true);
    expect((list as readonly string[])[0]).toHaveLength(512);
  });
});
