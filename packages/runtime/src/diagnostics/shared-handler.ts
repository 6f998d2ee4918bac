// SPDX-License-Identifier: Apache-2.0
import { type HttpHandler, type HttpResponse } from './diagnostics-server.ts';

interface Run {
  readonly response: Promise<HttpResponse>;
  readonly stop: AbortController;
  waiting: number;
}

/**
 * One run of the handler for all requests that wait at the same time, whatever their method and query. It ends early only when all of them are
 * gone. Runs do not overlap.
 *
 * A request that arrives during a run accepts its response only if it is no failure: a time limit that began before the request may have cut
 * the run short. After a failure such requests share one further run.
 */
export function sharedHandler(handler: HttpHandler): HttpHandler {
  let current: Run | undefined;
  let idle: Promise<unknown> = Promise.resolve();

  const start: (request: Parameters<HttpHandler>[0]) => Run = (request) => {
    const stop = new AbortController();
    const response = idle.then(() => handler({ ...request, signal: stop.signal }));
    const run: Run = { response, stop, waiting: 0 };
    const end = (): void => {
      if (current === run) current = undefined;
    };
    idle = response.then(end, end);
    current = run;
    return run;
  };

  const wait = async (run: Run, signal: AbortSignal): Promise<HttpResponse> => {
    run.waiting += 1;
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(signal.reason as Error);
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    try {
      return await Promise.race([run.response, gone.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      run.waiting -= 1;
      if (run.waiting === 0) {
        if (current === run) current = undefined;
        run.stop.abort(new Error('all clients are gone'));
      }
    }
  };

  return async (request) => {
    const joined = current;
    const response = await wait(joined ?? start(request), request.signal);
    if (joined === undefined || response.status < 500) return response;
    return await wait(current ?? start(request), request.signal);
  };
}
