// SPDX-License-Identifier: Apache-2.0
/**
 * The driver in process: the real services over a disk in memory, with the program's fault rules and journal.
 *
 * A crash ends every call without an answer and disconnects the old run from the disk; `restart` opens a new run on the same
 * disk. Time comes from the given clock and ids from a counter: the same calls give the same answers.
 */
import type { CsiChannel } from '@csi-sidecars/csi';
import { systemClock, type Clock } from '@csi-sidecars/runtime';
import { MemoryDisk } from './memory-disk.ts';
import { dispatch } from '../calls/dispatch.ts';
import { createControl, type DriverControl } from '../control/control.ts';
import { openDriver, type Driver } from '../core/driver.ts';
import type { GroupRecord, SnapshotRecord, StoredRecord, VolumeRecord } from '../core/records.ts';
import { defaultSettings, type Settings } from '../core/settings.ts';
import { FaultBox } from '../faults/fault-box.ts';
import type { IncomingCall, Outcome, RecordedCall } from '../journal/journal.ts';
import { MemoryJournal } from '../journal/memory-journal.ts';
import { modelChannel, type ChannelOptions } from './channel.ts';

export interface DriverModelOptions {
  /** By default the driver supports everything, on any node. */
  readonly settings?: Partial<Settings>;
  readonly clock?: Clock;
}

export interface DriverModel {
  readonly settings: Settings;
  readonly faults: FaultBox;
  channel(options?: ChannelOptions): CsiChannel;
  /** Every call so far, oldest first, secrets included. */
  readonly calls: readonly RecordedCall[];
  forgetCalls(): void;
  /** Crashes as by kill -9. The content of the disk and the fault rules stay. */
  crash(): void;
  /** Starts again with the same disk. */
  restart(): void;
  /** Removes a volume from the disk, as damage does. The driver notices when it starts again. */
  lose(volumeId: string): void;
  /** Returns what rolls the disk back to this moment, except for what is attached then. The driver notices when it starts again. */
  backup(): () => void;
  /** In order of creation, including unfinished records, which callers cannot see. */
  volumes(): readonly VolumeRecord[];
  snapshots(): readonly SnapshotRecord[];
  groups(): readonly GroupRecord[];
  /** The content of a volume or snapshot; undefined if it is not on the disk. */
  read(id: string): string | undefined;
  write(volumeId: string, content: string): void;
  /** Path -> volume id. */
  mounts(): ReadonlyMap<string, string>;
  /** The control interface that the program offers through its socket. */
  readonly control: DriverControl;
}

interface Run {
  readonly driver: Promise<Driver>;
  readonly death: AbortController;
}

export function createDriverModel(options: DriverModelOptions = {}): DriverModel {
  const clock = options.clock ?? systemClock();
  const settings: Settings = { ...defaultSettings, ...options.settings };
  const disk = new MemoryDisk();
  const journal = new MemoryJournal(clock);
  const faults = new FaultBox(clock);
  let run: Run | undefined = start();

  function start(): Run {
    const { persistence, backend, cut } = disk.connect();
    const death = new AbortController();
    death.signal.addEventListener('abort', cut, { once: true });
    const driver = openDriver({ settings, persistence, backend, clock, newId: (kind) => disk.newId(kind) });
    driver.catch(() => undefined); // a crash may come first; callers that wait for the driver get the error
    return { driver, death };
  }

  function crash(): void {
    const dead = run;
    run = undefined;
    dead?.death.abort();
  }

  async function serve(incoming: IncomingCall): Promise<Outcome> {
    const current = run;
    if (current === undefined) return { kind: 'interrupted', by: 'crash' };
    const { signal } = current.death;
    const driver = await current.driver;
    const outcome = await dispatch({ driver, faults, journal: whileAlive(journal, signal) }, incoming);
    if (outcome.kind === 'interrupted' && outcome.by === 'crash' && run === current) crash();
    return signal.aborted ? { kind: 'interrupted', by: 'crash' } : outcome;
  }

  const running = async (): Promise<Driver> => {
    if (run === undefined) throw new Error('the driver is not running');
    return await run.driver;
  };

  return {
    settings,
    faults,
    channel: (channelOptions) => modelChannel({ clock, serve, connect: () => run?.death.signal }, channelOptions),
    get calls() {
      return journal.calls;
    },
    forgetCalls: () => journal.forget(),
    crash,
    restart: () => {
      crash();
      run = start();
    },
    lose: (id) => {
      disk.records.volumes.delete(id);
      disk.contents.delete(id);
    },
    backup: () => disk.backup(),
    volumes: () => inOrder(disk.records.volumes),
    snapshots: () => inOrder(disk.records.snapshots),
    groups: () => inOrder(disk.records.groups),
    read: (id) => disk.contents.get(id),
    write: (volumeId, content) => {
      if (!disk.contents.has(volumeId)) throw new Error(`there is no volume ${volumeId}`);
      disk.contents.set(volumeId, content);
    },
    mounts: () => new Map([...disk.mounts].map(([path, { volumeId }]) => [path, volumeId])),
    control: createControl({ driver: running, faults, calls: async () => journal.calls }),
  };
}

/** A dead driver writes no more lines: calls in progress stay without an outcome. */
function whileAlive(journal: MemoryJournal, death: AbortSignal): Pick<MemoryJournal, 'begin' | 'end'> {
  return {
    begin: journal.begin,
    end: async (seq, outcome) => {
      if (!death.aborted) await journal.end(seq, outcome);
    },
  };
}

function inOrder<T extends StoredRecord>(records: ReadonlyMap<string, T>): T[] {
  return [...records.values()].sort((a, b) => a.order - b.order);
}
