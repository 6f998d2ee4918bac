// SPDX-License-Identifier: Apache-2.0
/** The program inside the test process, with its own folder; mounts are links, so root is not needed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCsi, type CsiChannel } from '@csi-sidecars/csi';
import { silentLogger, systemClock } from '@csi-sidecars/runtime';
import { controlClient, readJournal, type DriverControl, type RecordedCall, type Settings } from '../src/index.ts';
import { configure } from '../src/program/configuration.ts';
import { parseFlags } from '../src/program/flags.ts';
import { startProgram } from '../src/program/program.ts';

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'td-'));
  return { path, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true, force: true }) };
}

export async function connect(socket: string): Promise<CsiChannel> {
  return await connectCsi({ clock: systemClock(), log: silentLogger }, { address: `unix://${socket}` });
}

export interface RunningProgram extends AsyncDisposable {
  readonly channel: CsiChannel;
  readonly control: DriverControl;
  readonly calls: () => Promise<readonly RecordedCall[]>;
}

export interface ProgramOptions {
  readonly folder: string;
  readonly flags?: readonly string[];
  readonly settings?: Partial<Settings>;
}

export async function runProgram({ folder, flags = [], settings = {} }: ProgramOptions): Promise<RunningProgram> {
  const [socket, faultSocket, journal] = [join(folder, 'c.sock'), join(folder, 'f.sock'), join(folder, 'j')];
  const own = [`--endpoint=${socket}`, '--nodeid=node-1', `--statedir=${folder}/state`, '--mounts=links'];
  const beside = [`--fault-socket=${faultSocket}`, `--journal=${journal}`];
  const die = (): never => {
    throw new Error('a crash inside the test process');
  };
  const configuration = configure(parseFlags([...own, ...beside, ...flags]), settings);
  const program = await startProgram({ clock: systemClock(), die }, configuration);
  const channel = await connect(socket);
  return {
    channel,
    control: controlClient(faultSocket),
    calls: async () => await readJournal(journal),
    [Symbol.asyncDispose]: async () => {
      channel.close();
      await program.stop();
    },
  };
}
