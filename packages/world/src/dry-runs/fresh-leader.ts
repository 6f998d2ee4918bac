// SPDX-License-Identifier: Apache-2.0
/**
 * A program that is started at a moment of a story, with an empty memory, over the API server of the story. It reads and watches; its writes and
 * its calls to the driver get no answer and change nothing. So each key is looked at once, in the state of that moment, and the log says which
 * rows the key came to.
 */
import type { CsiChannel } from '@csi-sidecars/csi';
import { linkSignals, type Transport } from '@csi-sidecars/runtime';
import type { Schedule } from '@csi-sidecars/runtime/testing';
import { createDriverModel, type DriverModel } from '@csi-sidecars/test-driver';
import { startProgram } from '../container.ts';
import { leaseNamespace, nodeIdOf, nodeName } from '../names.ts';
import { hostOf } from '../process-host.ts';
import { type ProgramName, runOf } from '../programs.ts';

export interface LeaderOptions {
  readonly name: ProgramName;
  readonly args: readonly string[];
  readonly onNode: number | undefined;
  readonly settings: DriverModel['settings'];
  readonly transport: Transport;
}

export interface Decided {
  readonly row: string;
  readonly action: string;
}

export interface Looked {
  /** By queue and key, `claims 3f2c...`, up to the end of the first run of the key. */
  readonly decisions: ReadonlyMap<string, readonly Decided[]>;
  /** What got no answer: `call CreateVolume`, `patch persistentvolumes`. Events are left out. */
  readonly actions: readonly string[];
}

/** Until all keys have been looked at. Nothing in a run takes time but the reads, which are answered at once. */
const lookMs = 2_000;

export async function lookOnce(schedule: Schedule, options: LeaderOptions): Promise<Looked> {
  const { name, args, onNode, settings, transport } = options;
  const decisions = new Map<string, Decided[]>();
  const actions: string[] = [];
  const end = new AbortController();
  const driver = createDriverModel({ clock: schedule.process('driver of a fresh leader').clock, settings });
  const defects: string[] = [];
  const container = startProgram(`fresh ${name}`, {
    process: schedule.process,
    host: (process) =>
      hostOf({
        process,
        args,
        env: { NAMESPACE: leaseNamespace, ...(onNode === undefined ? {} : { NODE_NAME: nodeName(onNode) }) },
        hostName: 'fresh',
        transport: readOnly(transport, { end: end.signal, actions }),
        connect: () => {
          const nodeId = onNode === undefined ? {} : { nodeId: nodeIdOf(nodeName(onNode)) };
          return startCallsOnly(driver.channel(nodeId), actions);
        },
        onLogLine: (line) => note(decisions, line),
      }),
    run: runOf([name]),
    note: (text) => defects.push(`${name} ${text}`),
    onDefect: (text) => defects.push(text),
  });
  await schedule.advanceTo(schedule.elapsedMs + lookMs);
  if (defects.length > 0) throw new Error(defects.join('\n'));
  container.process()?.kill('it has been looked at');
  end.abort(new Error('the fresh leader is over'));
  return { decisions, actions };
}

function readOnly(
  transport: Transport,
  { end, actions }: { readonly end: AbortSignal; readonly actions: string[] },
): Transport {
  return (request) => {
    if (request.method === 'GET') return transport({ ...request, signal: linkSignals([request.signal, end]).signal });
    const action = writeOf(request);
    if (!action.endsWith(' events')) actions.push(action);
    return new Promise(() => undefined);
  };
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

function writeOf({ method, path }: Pick<Parameters<Transport>[0], 'method' | 'path'>): string {
  const [, resource = path, status = ''] =
    /^(?:\/api|\/apis\/[^/]+)\/[^/]+(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/[^/]+)?(\/status)?$/.exec(
      path.split('?')[0] ?? '',
    ) ?? [];
  return `${verbs[method]} ${resource}${status}`;
}

const startCalls = /\/(GetPluginInfo|GetPluginCapabilities|Probe|\w*GetCapabilities|NodeGetInfo)$/;

function startCallsOnly(channel: CsiChannel, actions: string[]): CsiChannel {
  return {
    ...channel,
    call: (method, request, options) => {
      if (startCalls.test(method)) return channel.call(method, request, options);
      actions.push(`call ${method.slice(method.lastIndexOf('/') + 1)}`);
      return new Promise(() => undefined);
    },
  };
}

const line = /"Decided" queue="([^"]*)" key="([^"]*)" row="([^"]*)" action="([^"]*)"/;

function note(decisions: Map<string, Decided[]>, text: string): void {
  const [, queue, key, row, action] = line.exec(text) ?? [];
  if (queue === undefined || key === undefined || row === undefined || action === undefined) return;
  const id = `${queue} ${key}`;
  const known = decisions.get(id);
  if (known === undefined) decisions.set(id, [{ row, action }]);
  else if (known.at(-1)?.action !== 'conclude') known.push({ row, action });
}
