// SPDX-License-Identifier: Apache-2.0
/** The process of a controller in a test: real client, caches and queues, in an environment that outlives it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  type Controller,
  type ControllerPorts,
  createApiClient,
  createInformerFactory,
  OrderlyStop,
} from '@csi-sidecars/runtime';
import { createWorkQueueMetrics } from '@csi-sidecars/runtime/internal';
import {
  createCrashableProcess,
  crashableTransport,
  crashableCall,
  recordingLogger,
  type RecordingLogger,
  recordingMetrics,
  type RecordingMetrics,
  script,
  seededRandom,
  settle,
  withFaults,
} from '@csi-sidecars/runtime/testing';
import type { TestCluster } from './test-cluster.ts';
import { callsOf, requestsOf, writesOf } from './records.ts';

export interface ProcessOptions {
  /** `csi-provisioner` */
  readonly name: string;
  /** Called before and after every API write and every call to the driver; `crash` ends the process there. Default: never. */
  readonly interrupt: ((operation: string, moment: 'before' | 'after') => 'crash' | undefined) | undefined;
  /** What a run or a change handler that throws does to the test. Default `fail`. */
  readonly defects?: 'fail' | 'expected' | undefined;
  /** The seed of its random decisions. Processes beside each other have different ones. Default 2. */
  readonly seed?: number | undefined;
}

const defectMessages = ['Reconcile threw, will retry', 'A change handler failed'];

export interface ControllerProcess {
  /** The ports that its controller gets. */
  readonly ports: ControllerPorts & { readonly channel: CsiChannel };
  /** Aborts when the process crashes. */
  readonly death: AbortSignal;
  /** Starts caches and controller, and runs everything that is due now. */
  run(controller: Controller): Promise<RunningController>;
}

export interface RunningController extends TestCluster {
  readonly metrics: RecordingMetrics;
  readonly logger: RecordingLogger;
  /** The writes so far, in order: `patch volumeattachments/status va1 200`. */
  writes(): readonly string[];
  /** The calls to the driver and their results, in order: `ControllerPublishVolume volume-1 id-of-node1 OK`. */
  calls(): readonly string[];
  /** The row whose step makes the request that is sent right now. */
  row(): string | undefined;
  /** The requests that were sent to the driver. */
  requests(method: string): readonly Readonly<Record<string, unknown>>[];
  /** Runs everything that is due now. */
  settle(): Promise<void>;
  /** Stops the process in order. */
  stop(): Promise<void>;
  /** Ends the process at once: nothing that it started has any further effect. */
  crash(): TestCluster;
}

export function createProcess(
  cluster: TestCluster,
  { name, interrupt, defects = 'fail', seed = 2 }: ProcessOptions,
): ControllerProcess {
  const { clock, server, driver, faults } = cluster;
  const random = seededRandom(seed);
  const row = new AsyncLocalStorage<string>();
  const logger = recordingLogger({
    onLine: ({ message, facts }) => {
      if (message !== 'Decided') return;
      const decided = String(facts['row']);
      // What a run did is found under its row on the page of the controller.
      if (!/^[A-Z]{1,2}\d+[a-z]?$/.test(decided) || facts['queue'] === '' || facts['action'] === '')
        throw new Error(`a step or an end without its row, action or queue: ${JSON.stringify(facts)}`);
      row.enterWith(decided);
    },
  });
  const metrics = recordingMetrics();
  const crashable = createCrashableProcess(interrupt);
  const { stop, death } = crashable;
  const client = createApiClient(
    {
      transport: crashableTransport(withFaults(server.transport, { clock, decide: script(faults) }), crashable),
      clock,
      logger,
    },
    { userAgent: `${name}/test`, qps: -1, burst: 1 },
  );
  const informers = createInformerFactory({ client, clock, random, logger, objects: 'frozen', firstLists: 'current' });
  const connection = driver.channel();
  const channel: CsiChannel = {
    ...connection,
    call: (...call) => crashableCall(() => connection.call(...call), { ...crashable, operation: call[0] }),
  };
  const settleAll = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await settle();
    await clock.advance(0);
    // A run that throws is retried, and the retry may hide the defect from what a test looks at. So may a later change of the object.
    if (defects === 'expected') return;
    const defect = logger.lines.find((line) => line.kind === 'error' && defectMessages.includes(line.message));
    if (defect?.kind === 'error') throw defect.error;
  };
  return {
    ports: {
      client,
      channel,
      informers,
      clock,
      random,
      logger,
      metrics,
      queueMetrics: createWorkQueueMetrics(metrics),
    },
    death,
    async run(controller) {
      const watching = informers.start(stop.signal);
      const running = controller.run(stop.signal);
      await settleAll();
      return {
        ...cluster,
        metrics,
        logger,
        writes: () => writesOf(server),
        calls: () => callsOf(driver),
        row: () => row.getStore(),
        requests: (method) => requestsOf(driver, method),
        settle: settleAll,
        async stop() {
          stop.abort(new OrderlyStop());
          await running;
          await informers.shutdown();
          await watching;
        },
        crash() {
          crashable.end();
          return cluster;
        },
      };
    },
  };
}
