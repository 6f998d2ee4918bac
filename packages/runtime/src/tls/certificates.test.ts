// SPDX-License-Identifier: Apache-2.0
import fs, { type FSWatcher, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { createTestAuthority, FakeClock, recordingLogger, settle, until } from '../../testing/index.ts';
import { type Pair, watchPair } from './certificates.ts';

const authority = createTestAuthority();
const issue = (commonName: string): Pair => authority.issue({ commonName, hosts: ['localhost'] });
const [first, second] = [issue('first'), issue('second')];
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** `unwatched`: the folder of the files does not exist when the watch begins. */
function aWatch(place: 'watched' | 'unwatched', onUse: () => void = () => undefined) {
  const root = mkdtempSync(join(tmpdir(), 'certificates-'));
  folders.push(root);
  const folder = join(root, 'pair');
  const write = ({ cert, key }: Pair): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'crt'), cert);
    writeFileSync(join(folder, 'key'), key);
  };
  if (place === 'watched') write(first);
  const clock = new FakeClock();
  const log = recordingLogger();
  const used: Pair[] = [];
  const stop = new AbortController();
  const files = { certFile: join(folder, 'crt'), keyFile: join(folder, 'key'), current: first };
  const use = (pair: Pair): void => {
    used.push(pair);
    onUse();
  };
  const ended = watchPair({ clock, log }, files, { use, signal: stop.signal });
  return {
    clock,
    log,
    used,
    write,
    /** Lets a minute pass, until the files are read again. */
    minute: async (): Promise<void> => {
      await clock.advance(60_000);
      await clock.advance(50);
      await until(() => clock.pending > 0);
    },
    end: async (): Promise<void> => {
      stop.abort();
      await ended;
    },
    folder,
  };
}

it('[snapshot-conversion-webhook#6] given a folder that reports no changes, then the files are read every minute, and a pair is used once', async () => {
  const watch = aWatch('unwatched');
  expect(watch.log.messages()).toEqual(['certificate watch error']);
  watch.write(second);
  await watch.minute();
  await until(() => watch.used.length > 0);
  for (let minute = 0; minute < 3; minute += 1) await watch.minute();
  expect(watch.used).toEqual([second]);
  expect(watch.log.messages()).toEqual(['certificate watch error', 'Updated current TLS certificate']);
  await watch.end();
});

it('[snapshot-conversion-webhook#6] given a pair that is replaced and then comes back, then it is used again', async () => {
  const watch = aWatch('unwatched');
  for (const pair of [second, first]) {
    const before = watch.used.length;
    watch.write(pair);
    await until(async () => {
      await watch.minute();
      return watch.used.length > before;
    });
  }
  expect(watch.used).toEqual([second, first]);
  await watch.end();
});

it('[snapshot-conversion-webhook#6] given a key that is written after its certificate, when both are there within 50 ms, then nothing between them is read', async () => {
  const watch = aWatch('watched');
  writeFileSync(join(watch.folder, 'crt'), second.cert);
  // The wait for quiet, beside the one for a minute.
  await until(() => watch.clock.pending === 2);
  await settle();
  expect(watch.log.messages()).toEqual([]);
  writeFileSync(join(watch.folder, 'key'), second.key);
  await until(async () => {
    await watch.clock.advance(50);
    return watch.used.length > 0;
  });
  expect(watch.used).toEqual([second]);
  expect(watch.log.messages()).toEqual(['Updated current TLS certificate']);
  await watch.end();
});

it('[snapshot-conversion-webhook#12] given a signal within the 50 ms after a change, then the files are not read any more', async () => {
  const watch = aWatch('watched');
  watch.write(second);
  await until(() => watch.clock.pending === 2);
  await watch.end();
  expect([watch.used, watch.log.messages()]).toEqual([[], []]);
});

it('[snapshot-conversion-webhook#6] given a change that was handled, then the next read waits for the next change or minute', async () => {
  const watch = aWatch('watched');
  watch.write(second);
  await until(async () => {
    await watch.clock.advance(50);
    return watch.used.length > 0;
  });
  const before = watch.clock.pending;
  for (let turn = 0; turn < 100; turn += 1) {
    await watch.clock.advance(50);
    for (let wait = 0; wait < 5; wait += 1) await settle();
  }
  // A watch may report one change several times.
  expect(watch.clock.pending).toBeLessThan(before + 5);
  await watch.end();
});

it('[snapshot-conversion-webhook#15] given files that stay unusable, then that is logged at a growing pace, with the time, and at once if the reason is another', async () => {
  const watch = aWatch('unwatched');
  watch.write({ ...first, cert: '' });
  const errors = () =>
    watch.log.lines.flatMap(({ message, facts }) => (message === 'error re-reading certificate' ? [facts] : []));
  const minutes = async (count: number) => {
    for (let minute = 0; minute < count; minute += 1) await watch.minute();
  };
  await minutes(12);
  expect(errors().map(({ forSeconds }) => Math.floor(Number(forSeconds) / 60))).toEqual([0, 2, 6, 11]);
  const [certFile, keyFile] = [join(watch.folder, 'crt'), join(watch.folder, 'key')];
  expect(errors()[0]).toMatchObject({ inUse: 'the pair before it', certFile, keyFile });
  watch.write({ ...first, key: 'no key' });
  await minutes(1);
  expect(errors()).toHaveLength(5);
  for (const usable of [first, second]) {
    watch.write(usable);
    await minutes(1);
    watch.write({ ...first, key: 'no key' });
    await minutes(1);
    expect(errors().at(-1)?.['forSeconds']).toBe(0);
  }
  await watch.end();
});

it.each([{ cert: `${first.cert}\n` }, { key: `${first.key}\n` }])(
  '[snapshot-conversion-webhook#6] given a change of only one of the two files, then the pair is used',
  async (change) => {
    const watch = aWatch('unwatched');
    watch.write({ ...first, ...change });
    await watch.minute();
    const { cert, key } = { ...first, ...change };
    expect(watch.used).toEqual([{ cert, key }]);
    await watch.end();
  },
);

it('[snapshot-conversion-webhook#6] given a pair that its server refuses, then it is offered again within the next minute', async () => {
  const watch = aWatch('unwatched', () => {
    if (watch.used.length === 1) throw new Error('refused');
  });
  watch.write(second);
  await until(async () => {
    await watch.minute();
    return watch.used.length > 1;
  });
  await until(() => watch.log.messages().includes('Updated current TLS certificate'));
  expect(watch.log.messages().slice(1)).toEqual(['error re-reading certificate', 'Updated current TLS certificate']);
  await watch.end();
});

it('[snapshot-conversion-webhook#6,12] given a watch that breaks, then that is logged; a signal ends the watch', async () => {
  const watching = vi.spyOn(fs, 'watch');
  syncBuiltinESMExports();
  const watch = aWatch('watched');
  const watcher = watching.mock.results[0]?.value as FSWatcher;
  watching.mockRestore();
  syncBuiltinESMExports();
  const closed = new Promise<void>((resolve) => watcher.once('close', resolve));
  const error = new Error('EMFILE');
  watcher.emit('error', error);
  expect(watch.log.lines).toEqual([
    { kind: 'error', error, message: 'certificate watch error', facts: { folder: watch.folder } },
  ]);
  await watch.end();
  await closed;
});
