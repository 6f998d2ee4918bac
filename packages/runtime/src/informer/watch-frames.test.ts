// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  FakeClock,
  listPage,
  ScriptedBody,
  scriptedInformer,
  settle,
  syncedStream,
} from '../../testing/index.ts';
import { TransportError } from '../api/transport.ts';

const frame = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
/** A stream that has synced an empty collection at version 10. */
const synced = (): ScriptedBody => syncedStream('10');

/** Yields are counted, and held back while `hold` is set. */
class YieldingClock extends FakeClock {
  yields = 0;
  hold: Promise<void> | undefined;
  override async yieldToLoop(): Promise<void> {
    this.yields += 1;
    await this.hold;
    await super.yieldToLoop();
  }
}

describe('watch frames', () => {
  it('[runtime#45] given 1000 frames in one chunk, then all arrive in order and the event loop turns in between', async () => {
    const clock = new YieldingClock();
    const { api, calls, start, stop } = scriptedInformer({ clock });
    const names = Array.from({ length: 1000 }, (_, n) => `pv-${n}`);
    api.answers(synced().write(names.map((name, n) => frame('ADDED', aVolume(name, `${11 + n}`))).join('')));
    await start();
    expect(calls).toEqual(names.map((name, n) => `add ${name}@${11 + n}`));
    expect(clock.yields).toBeGreaterThanOrEqual(2);
    await stop();
  });

  it('[runtime#46] given a last line that is complete except for its newline, then it counts', async () => {
    const { api, clock, calls, start, stop } = scriptedInformer();
    api.answers(
      synced()
        .write(frame('ADDED', aVolume('a', '11')).trimEnd())
        .end(),
    );
    await start();
    expect(calls).toEqual(['add a@11']);
    await clock.advance(1000);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=11']);
    await stop();
  });

  it('[runtime#47] given a truncated last line, then it is dropped and the watch goes on from the event before', async () => {
    const { api, clock, logger, calls, start, stop } = scriptedInformer();
    const cut = frame('MODIFIED', aVolume('a', '12'));
    api.answers(synced().event('ADDED', aVolume('a', '11')).write(cut.slice(0, 50)).end());
    api.answers(new ScriptedBody().write(cut));
    await start();
    await clock.advance(1000);
    expect(calls).toEqual(['add a@11', 'update a@11->12']);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=11']);
    expect(logger.messages()).toContain('Watch closed with unexpected EOF');
    await stop();
  });

  it.each([
    { id: '[runtime#48]', given: 'invalid JSON', line: '{"type":"ADDED","object":{"kind":"Persis"secret"\n' },
    { id: '[runtime#50]', given: 'an unknown type', line: '{"type":"FOO","object":{"secret":1}}\n' },
  ])('$id given $given in the middle, then the watch ends and a relist loses nothing', async ({ line }) => {
    const { api, clock, logger, metrics, calls, start, stop } = scriptedInformer();
    const broken = synced().event('ADDED', aVolume('a', '11')).write(line).event('ADDED', aVolume('b', '13'));
    const relist = new ScriptedBody().event('ADDED', aVolume('a', '11')).event('ADDED', aVolume('b', '13'));
    api.answers(broken, relist.bookmark('13', 'end'));
    await start();
    expect(calls).toEqual(['add a@11']);
    expect(broken.closed).toBe(true);
    await clock.advance(799);
    expect(api.summaries).toEqual(['stream rv=']);
    await clock.advance(1);
    expect(calls).toEqual(['add a@11', 'add b@13']);
    expect(api.summaries).toEqual(['stream rv=', 'stream rv=11']);
    const [failure] = logger.lines.filter(({ kind }) => kind === 'error');
    expect(failure).toMatchObject({ message: 'watch ended with error', facts: { bytes: line.length - 1 } });
    expect(JSON.stringify(failure)).not.toContain('secret');
    expect(metrics.value('reflector_decode_errors_total', { name: 'persistentvolumes', selector: '' })).toBe(1);
    await stop();
  });

  it('[runtime#49] given a frame of 20 MiB, then the watch ends before all of it was read, and a list copes with it', async () => {
    const { api, clock, calls, start, stop } = scriptedInformer({ streaming: 'off' });
    const huge = aVolume('a', '11', { annotations: { blob: 'x'.repeat(20 * 2 ** 20) } });
    const body = new ScriptedBody();
    const text = frame('ADDED', huge);
    for (let at = 0; at < text.length; at += 2 ** 20) body.write(text.slice(at, at + 2 ** 20));
    api.answers(listPage([], { resourceVersion: '10' }), body, listPage([huge], { resourceVersion: '11' }));
    await start();
    await settle();
    expect(body.taken).toBe(17);
    expect(body.closed).toBe(true);
    await clock.advance(800);
    expect(calls).toEqual(['add a@11']);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'list rv=10', 'watch rv=11']);
    await stop();
  });

  it('[runtime#51] given an object of another kind, then it is skipped, the version stays, and later events count', async () => {
    const { api, clock, logger, calls, start, stop } = scriptedInformer();
    const other = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'x', resourceVersion: '99' } };
    const stream = synced().event('ADDED', other);
    api.answers(stream);
    await start();
    expect(logger.lines.filter(({ kind }) => kind === 'error')).toMatchObject([{ facts: { what: 'v1 Pod' } }]);
    stream.end();
    await clock.advance(1000);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10']);
    await stop();
    expect(calls).toEqual([]);

    const again = scriptedInformer();
    again.api.answers(synced().event('ADDED', other).event('ADDED', aVolume('a', '11')));
    await again.start();
    expect(again.calls).toEqual(['add a@11']);
    await again.stop();
  });

  it('[runtime#52] given an event without a version, then it is applied and the version stays', async () => {
    const { api, clock, informer, calls, start, stop } = scriptedInformer();
    api.answers(synced().event('ADDED', aVolume('a', '')).end());
    await start();
    await clock.advance(1000);
    expect(calls).toEqual(['add a@']);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=10']);
    expect(informer.lister.resourceVersion).toBe('10');
    await stop();
  });

  it('[runtime#53] given a bookmark, then the version moves and no handler is called', async () => {
    const { api, clock, informer, calls, start, stop } = scriptedInformer();
    api.answers(synced().bookmark('20').end());
    await start();
    expect(informer.lister.resourceVersion).toBe('20');
    await clock.advance(1000);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=20']);
    expect(calls).toEqual([]);
    await stop();
  });

  it('[runtime#54] given a slow consumer, then nothing more is read from the stream', async () => {
    const clock = new YieldingClock();
    let release: (() => void) | undefined;
    clock.hold = new Promise((resolve) => (release = resolve));
    const { api, calls, start, stop } = scriptedInformer({ clock });
    const stream = synced();
    for (let n = 0; n < 2000; n += 1) stream.event('ADDED', aVolume(`pv-${n}`, `${11 + n}`));
    api.answers(stream);
    await start();
    expect(stream.taken).toBeLessThanOrEqual(500);
    expect(calls.length).toBeLessThanOrEqual(500);
    clock.hold = undefined;
    release?.();
    await settle();
    expect(calls).toHaveLength(2000);
    await stop();
  });

  it('[runtime#55] given a stop during a burst, then no handler is called after that', async () => {
    const { api, informer, calls, start, stop } = scriptedInformer();
    const afterwards: string[] = [];
    let stopped: Promise<void> | undefined;
    informer.addHandler({
      add: ({ metadata }) => {
        if (stopped !== undefined) afterwards.push(metadata?.name ?? '');
        if (metadata?.name === 'pv-5') stopped = stop();
      },
    });
    const burst = Array.from({ length: 100 }, (_, n) => frame('ADDED', aVolume(`pv-${n}`, `${11 + n}`)));
    const stream = synced().write(burst.join(''));
    api.answers(stream);
    await start();
    await stopped;
    expect(calls).toHaveLength(6);
    expect(afterwards).toEqual([]);
    expect(stream.closed).toBe(true);
  });

  it('[runtime#57] given an empty answer to a watch, then it is a very short watch', async () => {
    const { api, clock, logger, metrics, start, stop } = scriptedInformer({ streaming: 'off' });
    api.answers(listPage([], { resourceVersion: '10' }), new ScriptedBody().end());
    await start();
    expect(logger.messages()).toContain('Very short watch');
    expect(metrics.value('reflector_short_watches_total', { name: 'persistentvolumes', selector: '' })).toBe(1);
    await clock.advance(800);
    expect(api.summaries).toEqual(['list rv=0 limit=500', 'watch rv=10', 'list rv=10']);
    await stop();
  });

  it('given a connection that breaks between events, then the watch goes on from the last one', async () => {
    const { api, clock, calls, start, stop } = scriptedInformer();
    api.answers(synced().event('ADDED', aVolume('a', '11')).fail(new TransportError('reset', 'connection reset')));
    await start();
    await clock.advance(1000);
    expect(calls).toEqual(['add a@11']);
    expect(api.summaries).toEqual(['stream rv=', 'watch rv=11']);
    await stop();
  });
});
