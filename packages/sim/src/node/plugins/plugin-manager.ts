// SPDX-License-Identifier: Apache-2.0
/**
 * Kubelet's plugin manager for CSI drivers: each second it compares the sockets of the registration folder with the registered
 * drivers. First match wins, per socket:
 *
 * | socket | condition | action |
 * |---|---|---|
 * | registered | gone, or replaced by another at that path | deregister; a new one is registered in the same round |
 * | new | its backoff has not ended | none |
 * | new | of another type, or no version 1.x | notify false, back off |
 * | new | its driver is registered by another socket | notify false, back off |
 * | new | the API refuses the driver's registration | deregister, notify false, back off |
 * | new | else | register, notify true |
 */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { StartGate } from '@csi-sidecars/runtime/internal';
import type { CsiChannel, PluginInfo } from '@csi-sidecars/csi';
import { readNodeDriver } from '../driver.ts';
import { persistently } from '../../loop/persistently.ts';
import type { Registrations } from '../registrations.ts';

/** One end of the registration protocol. */
export interface Registrar {
  readonly getInfo: () => Promise<PluginInfo>;
  readonly notify: (outcome: { readonly registered: boolean; readonly error: string }) => Promise<void>;
  readonly close: () => void;
}

/** The port of a plugin manager to sockets and plugins. */
export interface PluginPort {
  /** Path -> identity of every socket below the registration folder; a re-created socket has another identity. */
  readonly sockets: () => Promise<ReadonlyMap<string, string>>;
  readonly dial: (socket: string) => Registrar;
  readonly connect: (endpoint: string, signal: AbortSignal) => Promise<CsiChannel>;
}

export interface PluginManagerDeps {
  readonly world: PluginPort;
  readonly registrations: Pick<Registrations, 'add' | 'remove'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly gate: StartGate;
}

interface Plugin {
  readonly id: string;
  readonly driver: { readonly name: string; readonly channel: CsiChannel } | undefined;
  readonly failures: number;
  readonly notBeforeMs: number;
}

const roundMs = 1_000;
const firstBackoffMs = 500;
const lastBackoffMs = 122_000;
const csiType = 'CSIPlugin';

export function createPluginManager(deps: PluginManagerDeps): { readonly run: (signal: AbortSignal) => Promise<void> } {
  const { world, registrations, clock, logger, gate } = deps;
  const plugins = new Map<string, Plugin>();

  async function round(signal: AbortSignal): Promise<void> {
    const sockets = await world.sockets();
    for (const [path, plugin] of plugins) {
      if (sockets.get(path) !== plugin.id) await forget(path, plugin, signal);
    }
    const due = [...sockets].filter(([path]) => {
      const known = plugins.get(path);
      return known === undefined || (known.driver === undefined && known.notBeforeMs <= clock.monotonicMs());
    });
    await Promise.all(due.map(([path, id]) => tryRegister(path, id, signal)));
  }

  async function forget(path: string, { driver }: Plugin, signal: AbortSignal): Promise<void> {
    if (driver !== undefined) {
      await registrations.remove(driver.name, signal);
      driver.channel.close();
    }
    // Recorded only now, so that a failure is retried in the next round.
    plugins.delete(path);
  }

  async function tryRegister(path: string, id: string, signal: AbortSignal): Promise<void> {
    const failures = plugins.get(path)?.failures ?? 0;
    const registrar = world.dial(path);
    try {
      const driver = await register(path, registrar, signal);
      plugins.set(path, { id, driver, failures: 0, notBeforeMs: 0 });
      await registrar.notify({ registered: true, error: '' });
    } catch (error) {
      if (signal.aborted) throw error;
      const backoffMs = Math.min(firstBackoffMs * 2 ** failures, lastBackoffMs);
      const known = plugins.get(path);
      if (known?.driver !== undefined) await forget(path, known, signal);
      plugins.set(path, {
        id,
        driver: undefined,
        failures: failures + 1,
        notBeforeMs: clock.monotonicMs() + backoffMs,
      });
      const message = `RegisterPlugin error -- ${(error as Error).message}`;
      logger.error(error, 'Failed to register a plugin', { socket: path });
      await registrar.notify({ registered: false, error: message }).catch(() => undefined);
    } finally {
      registrar.close();
    }
  }

  async function register(
    path: string,
    registrar: Registrar,
    signal: AbortSignal,
  ): Promise<NonNullable<Plugin['driver']>> {
    const info = await registrar.getInfo();
    if (info.type !== csiType) {
      throw new Error(`no handler registered for plugin type: ${info.type} at socket ${path}`);
    }
    const { name } = info;
    if (!info.supported_versions.some((version) => /^v?1\./.test(version))) {
      throw new Error(`plugin validation failed with err: no supported version of ${name} is 1.x`);
    }
    if ([...plugins.values()].some(({ driver }) => driver?.name === name)) {
      throw new Error(
        'plugin validation failed with err: Another driver with the same name is already registered with a higher supported version',
      );
    }
    const channel = await world.connect(info.endpoint === '' ? path : info.endpoint, signal);
    try {
      await registrations.add(await readNodeDriver(name, channel, signal), signal);
      return { name, channel };
    } catch (error) {
      channel.close();
      throw new Error(`plugin registration failed with err: ${(error as Error).message}`, { cause: error });
    }
  }

  return {
    async run(signal) {
      try {
        while (!signal.aborted) {
          await gate.whenOpen(signal);
          await persistently({ clock, logger }, () => round(signal), signal);
          await clock.sleep(roundMs, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        for (const { driver } of plugins.values()) driver?.channel.close();
      }
    },
  };
}
