/* What a Lua host and the supervisor say to each other: wire/frame.h frames with JSON bodies over
 * one socket (fd 3 of sandglass-host). This is the specification; src/script implements the host,
 * src/ops the supervisor's side.
 *
 * 1. TURNS. The host is a pure function of the frames it is sent: it takes one frame, runs
 * everything that can run
 *    until all of it waits, sends its frames in one write, the last of which is IDLE (or END), and
 *    only then reads the
 *    next. The supervisor may send frames at any time; they queue. Same frames in the same order =
 *    same bytes back.
 * 2. TIME. Every body towards the host has "t": wall time in microseconds. It is all that the
 * script knows of time. 3. BYTES. Strings that are not valid UTF-8, or hold NUL, are {"b64":"..."}
 * in both directions (base/json.h). JSON
 *    null and an absent key are the same. Integers with the unit in the name: *_us, *_bytes, *_uusd
 *    (millionths of $).
 * 4. CALLS. CALL has an id that the host counts up from 1. Each gets exactly one ANSWER with the
 * same id, also after a
 *    CANCEL (then normally err.code "cancelled"). CHUNK frames of a call come before its ANSWER.
 *    TELL has no answer.
 * 5. ERRORS. ANSWER is {"t":..,"value":..} or
 * {"t":..,"err":{"code","msg","why","rule","event","exit","retry","result"}}; code
 *    is one of exit timeout denied cancelled budget limit net model backend io diverged interrupted
 *    script; why = the
 *    user's or the rule's text, rule = its name, event = seq to look at; only code and msg are
 *    required. retry: an
 *    interrupted call of a box that may be issued once more (that one has args.retry_of = event).
 *    result: RES of a command that was ended from outside (time limit, killed, cancelled,
 *    interrupted), with its output up to then.
 * 6. An unknown op is answered with code "script", msg "no operation 'x'".
 *
 * Towards the host
 *   START   first, once: {"t","mode":"script"|"test"|"policy"|"config"|"plugin","script":"fix.lua"
 *           (name in messages),"text",
 *           "args":[..],"seed":"16 to 30 hex
 *           digits","mem_bytes","env":{"model","backend","providers":[names],...}}
 *   ANSWER  rule 5.
 *   CHUNK   {"t","stream":"out"|"err"|"text","data":bytes,"off":n}: output of a call whose args
 *           have "stream":true.
 *   MESSAGE {"t","agent":id,"text","who":{}}: a user's words to an agent; they stand before its
 *   next model call.
 *   STOP    {"t","task":n?,"agent":id?,"turn":true?,"why"}: cancels a task, an agent or (neither
 *           given) the whole script; turn:
 *           only what the agent is doing.
 *   EVENT   {"t","event":"action"|"held"|"verdict"|"output"|"step"|"end","body":{}}: for sg.on,
 *           after observe.
 *           {"t","event":"box","body":{box,workspace}}: the session was resumed, and box is in
 *           another place now.
 *           {"t","event":"model","body":{model}}: it is a fork, and every chat asks this model from
 *           now on.
 *   JUDGE   id = ticket {"t","when":n,"line":n,"act":{}}: a policy rule's when (n of the RESULT, or
 *           found by its line).
 *   ASK     id = ticket {"t","fn","call":n,"args":{}}: a function of a plugin
 *           (lua/sandglass/plugin.lua).
 *
 * From the host
 *   CALL    {"op","task":n,"agent":id (0
 *           none),"at":"fix.lua:12","tool":"run_tests"?,"said":"..."?,"tainted"?:true (it has
 *           read what came from outside),"args":{..}}
 *   TELL    the same shape, no answer; ops note, observe, tool.end, secret.
 *   CANCEL  id of the call: the script does not want it any longer. Kill what it runs; the ANSWER
 *           still comes.
 *   IDLE    {"turn":n,"waiting":number of calls under way}: the turn has ended.
 *   RESULT  policy, config, plugin: the plain data that the file returned (action/policy.h;
 *           lua/sandglass/config.lua).
 *   VERDICT id = ticket {"match":bool,"why"?:text} or {"err":{"msg"}}; always in the turn of its
 *   JUDGE.
 *   VALUE   id = ticket {"value"} or {"err":{"msg"}}: the answer to an ASK.
 *   END     {"ok":bool,"code":exit status,"why"?:text,"err"?:{code,msg,...},"trace"?:text,"at"?}:
 *           the script has ended;
 *           the host exits. Also sent (code 3, err.code "limit") just before it dies of its memory
 *           cap.
 *
 * Ops (args -> value). box, proc, shell, agent, budget are the integers that their opening op gave;
 * x? may be absent.
 *   module        {name} -> {text,path}: require. err io: not found. "sandglass.x.y" is
 *                 lua/sandglass/x/y.lua and
 *                 "sandglass" its init.lua; others lie beside the script; a name that ends in .lua
 *                 is a path there
 *   box.open      {name?,backend?,image?,repo?: path|{NAME:path},copy?,net?: "none"|["host:port"],
 *                 limits?:{mem_bytes,cpus_milli,pids,disk_bytes,files,time_us},env?:{},
 *                 proxies?:[],user?,keep?,policy?,expose?:[],accept?,options?:{}}
 *                 -> {box,name,backend,profile,workspace,caps:{},project?:true (its repositories
 *                 hold instructions or skills)}
 *   box.exec      {box,argv:[bytes] or cmd (= sh -c),cwd?,env?:{},stdin?,timeout_us?,net?:
 *                 [..]|"none",user?,label?,
 *                 stream?,parallel?,on_interrupted?:"error" (it is not done again when the session
 *                 is resumed),retry_of?; or batch:[texts of sh] instead of a command,stop?: at the
 *                 first that fails} -> RES =
 *                 {code?|signal?,out,err,ms,event,out_bytes,err_bytes,cut,
 *                 edited?:bool,ran?: text of the edited
 *                 form,batch?:[{code,out:[from,to],err:[from,to]}] in bytes of the
 *                 whole output}; out and err: at most first and last 32 KiB each, cut
 *                 reports it; signal is its number or name; a time-out is err "timeout"
 *   box.spawn     as box.exec -> {proc,event}; proc.read {proc} -> {stream,data,left_out?} or
 *                 {eof:true}, waits for output
 *                 (left_out: bytes before data that nobody read in time, while it was waited for or
 *                 told to end);
 *                 proc.write {proc,data,eof?}; proc.kill {proc,signal?}; proc.wait {proc} -> RES;
 *                 with pty,cols?,rows? it has a
 *                 terminal, whose output is its out: proc.resize {proc,cols,rows}
 *   box.dial      {box,port,timeout_us? (keeps trying, for a server that starts)} ->
 *                 {proc,event}: a connection to a port
 *                 of the box's own loopback, an action of kind connect. proc.read, write, wait are
 *                 of the connection, proc.kill
 *                 closes it; nobody there: proc.read is at its end, proc.wait is an err; proc.write
 *                 is an err while it has
 *                 256 KiB or more still to take
 *   shell.open    {box,cwd?,env?} -> {shell}; shell.run {shell,cmd,timeout_us?,stream?} -> RES;
 *                 shell.send {shell,data} -> {}; shell.close {shell}
 *   box.read      {box,path,off?,len?} -> {data,event,bytes}
 *   box.write     {box,path,data} -> {event}
 *   box.edit      {box,path,old,new,all?} -> {event,count}; old occurs exactly once unless all;
 *                 else err io
 *   box.glob      {box,pattern} -> {paths:[bytes]}
 *   box.url       {box,port} -> {url,event}: what a server in the box listens on at its own
 *                 loopback, reachable from the host
 *                 until the box goes; an action of kind port
 *   box.put       {box,host,path} -> {event}; box.get {box,path,host} -> {event}
 *   box.snapshot  {box,label?} -> {event,oid,label?}
 *   box.rollback  {box,to: event number|label} -> {event}
 *   box.fork      {box,name?,at?} -> as box.open
 *   box.restore   {box} -> as box.open: another one with its files as the newest snapshot has them,
 *                 if it has died; {} if
 *                 it has not
 *   box.diff      {box,from?,to?} ->
 *                 {lines,files:[{path,status,added,removed,binary?,note?}],patch}
 *   box.merge     {box,into?,mode?,branch?,review?,message?} ->
 *                 {event,ref?,targets,taken,left:[paths],partly,by?,comments?}
 *   boxes.merge   {boxes:[ids],into?,mode?,branch?,take?,leave?,review?,message?} ->
 *                 {event,group,ref?,between:[],both:[],by?,comments?,
 *                 boxes:[{box,name,event,ref?,targets,taken,left:[paths],partly}]}: in one step
 *   box.freeze box.thaw box.close  {box} -> {}; box.close {box,wait:true} -> {} when it has gone
 *   agent.start   {name,task,model,budget?,limits?:{uusd,tokens,time_us,steps,actions},box?,
 *                 tools:[names],policy?} -> {agent}; the CALL's own agent is the parent
 *   agent.turn    {agent,n} -> {}: before each model call; latches hold it here, the step budget
 *                 counts it
 *   agent.end     {agent,stop,text?,ok,steps} -> {}
 *   instructions  {box} -> {files:[{path,text,hash}],skills:[{name,about,path,hash}],event}:
 *                 trusted text of its repositories
 *   skill         {box,path,hash} -> {text,path,event}: the body of one; err io when it is not what
 *                 it was
 *   check         {file} -> {ok,failed:n,results:[{name,result,text,at,evidence:[]}],event}: a
 *                 check file over this session
 *                 as it stands (lua/sandglass/verify.lua)
 *   model.call    {model:"provider:name",messages:[M],tools:[{name,about,schema}],options?:{},
 *                 stream?,reply?: REP} -> REP = {text,calls:[{id,name,args}],
 *                 usage:{in,out,cached},stop:"end"|"calls"|"length"|"refused"}.
 *                 With
 *                 "reply" (scripted models) the supervisor records it and answers with it. Text
 *                 comes as CHUNK "text".
 *                 M = {role:"system"|"user"|"assistant"|"tool",text?,calls?,call?:
 *                 id,name?,error?:bool}
 *   tool.call     {name,where:"box"|"host",args:{},risk?,ask?:bool} -> {event}: permission to run a
 *                 script's own tool;
 *                 host ones are judged. TELL tool.end {event,ok,text?} follows.
 *   ask           {text,choices?:[],form?:{name:type},default?,timeout_us?,risk?} ->
 *                 {choice?,form?,by?,text?,timeout?}
 *   notify        {text,title?} -> {}
 *   label         {words:["NAME"|"NAME=VALUE"|"NAME-"]} -> {}: labels of the session
 *                 (sessions/labels.h)
 *   note          TELL {level:"note"|"warn"|"print"|"mark"|"progress",text,done?,total?,nl?} (nl
 *                 false: no line end)
 *   observe       TELL {events:[..]}: from now on exactly these
 *   secret        TELL {name}: a script names a secret; its value is read, so that it is kept out
 *                 of all that is recorded
 *   proxy.open    {name?,here? (on the host's own loopback, now, models only; with key_hash?:
 *                 of the key that its programs have),routes:{NAME:
 *                 ROUTE},tool_gate?,limits?:{uusd,tokens,calls},prompt_host? (a file, by the
 *                 script)} ->
 *                 {proxy: what box.open takes in "proxies":[..] (src/inside/proxy.h),url,key (a
 *                 placeholder),urls:{NAME}}.
 *                 ROUTE = {provider} (of models) or {url?,speak?:
 *                 "anthropic"|"openai"|"gemini",git?,rewrite?,allow?:[..],
 *                 header?:{NAME: text, SECRET or list of both},basic?:{user,password: SECRET}};
 *                 without url: https://NAME
 *   proxy.usage   {key} -> {calls,in,out,uusd,refused}
 *   inner.permit  {box? (none: it works outside of
 *                 any),tool,call,args:{},title?,options?:[texts],text?} ->
 *                 {event,before?:true,edited?:true,ran?}: what an agent
 *                 in a box asks to be allowed, judged as what it would do; before: the proxy has
 *                 had it judged already.
 *                 TELL agent.told {what,say,...} (supervisor/events.def) is what it says of itself
 *   budget.new    {parent?,limits} -> {budget}; budget.left {budget} -> limits that remain
 *   store.get     {store,key} -> {value?}; store.set {store,key,value?}; store.add
 *                 {store,key,value} -> {value}: a
 *                 number is added, anything else appended to a list; store.find {store,text} ->
 *                 {items:[{key,value}]};
 *                 store.keys {store} -> {keys:[]} in order
 *   sleep         {us} -> {}
 *   host.push     {box,remote?,branch?,ref?,force?} -> {event,text};
 *                 host.exec {argv,cwd?,env?,stdin?,timeout_us?} -> RES
 *   host.fetch    {url,method?,headers?:{NAME: text},body?:bytes,raw?,max_bytes?,timeout_us?} ->
 *                 {status,url (where it led),
 *                 type,title?,text | data (raw),bytes,cut,unseen?,event}: an action of kind fetch
 *                 for each redirect; err net
 *   host.search   {query,count?,page?,timeout_us?} -> {results:[{title,url,text}],event}
 *   mcp.find      {name} -> the options of a server that the user has added (src/mcp/known.h)
 *   mcp.open      {name, command?:[bytes] or url?, where?:"host"|"box", box?, cwd?, env?:{},
 *                 headers?:{}, timeout_us?} ->
 *                 {server,name,where,era,info?:{},instructions?,
 *                 tools:[{name,about,schema,reads,title?}],resources?:true,event}: an action of
 *                 kind mcp, tool "mcp:NAME"
 *   mcp.call      {server,name,args:{},timeout_us?} -> {text,structured?,is_error,event,
 *                 media?:[{mime,data in base64,uri?}]}: an action of kind mcp,
 *                 tool "mcp:NAME:TOOL"; err backend when the server has gone (mcp.open brings it
 *                 back). The name "resources/read" with args {uri} reads a resource
 *   mcp.tools     {server} -> {tools,changed:n}: as they are now; mcp.close {server} -> {}
 *   mcp.next      {} -> {request,tool,args,client} | {cancel: request} | {leave: client} |
 *                 {eof:true}: what the
 *                 clients of `mcp serve` want; waits
 *   mcp.answer    {request,structured?,text?,blob?,path?,error?:bool} -> {}
 * A secret is {"$secret":"NAME"}: in proxy.open's header and basic, in host.exec's env values and
 * stdin, in host.fetch's headers, in mcp.open's env and headers of a server on the host; in no op
 * of a box (err script). */
#ifndef WIRE_HOST_H
#define WIRE_HOST_H

#include "base/compat.h"

enum host_frame {
	/* to the host */
	HOST_START = 1,
	HOST_ANSWER = 2,
	HOST_CHUNK = 3,
	HOST_MESSAGE = 4,
	HOST_STOP = 5,
	HOST_EVENT = 6,
	HOST_JUDGE = 7,
	HOST_ASK = 8,
	/* from the host */
	HOST_CALL = 65,
	HOST_TELL = 66,
	HOST_CANCEL = 67,
	HOST_IDLE = 68,
	HOST_RESULT = 69,
	HOST_VERDICT = 70,
	HOST_END = 71,
	HOST_VALUE = 72,
};

enum {
	HOST_FD = 3,
	HOST_BODY_MAX = 64 << 20,     /* of one frame, either direction */
	HOST_OUTPUT_SHOWN = 32 << 10, /* first and last bytes of a stream in RES */
};

/* "start", "answer", ...; NULL if unknown. */
const char *host_frame_name(uint16_t type);

#endif
