// SPDX-License-Identifier: Apache-2.0
/** Runs the controller that the module of the first argument exports, as if it ran in a pod. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runController, type RunControllerOptions } from '@csi-sidecars/runtime';
import { files } from './service-account.ts';

interface Example {
  readonly controller: RunControllerOptions;
}

const { controller } = (await import(pathToFileURL(resolve(process.argv[2] ?? '')).href)) as Example;
await runController({ ...controller, files, listen: '' });
