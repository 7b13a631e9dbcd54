"""The table of entry points. build.py makes the C shim, the C header and the Fortran module from it. frame.py makes the
methods of Frame that TVProperties answers. A new name for a collection or a kernel is a row; a new call is a row and
a method. entry_words.py has the words of a row.
"""

from __future__ import annotations

from .entry_words import CELLS, CHUNK, MOST, VARIABLES, Arg, Entry, answered_text, bounds, extents, integer

_SPACE = (("X", "index in x"), ("Y", "index in y"), ("Z", "index in z"))
_ACTIVE = integer("nActive", "number of points to work on, from the front of the views", -MOST, MOST)


def _stripe(intent):
    """The arguments of a copy between a host's block and a view. intent: of the block."""
    return (
        Arg("tag", "tag", "name of the view, such as Q, T, rho"),
        Arg("data", "address", "the host's array (nx, ny, nz, nvar), double precision", intent=intent),
        *extents(),
        *bounds(*_SPACE, ("Data", "variable")),
        integer("stripeStart", "first selected point, counted from 1, x fastest", -MOST, MOST),
        integer("stripeEnd", "last selected point of the stripe", -MOST, MOST),
    )


def _eos(name, collection, doc):
    """An entry point that launches a collection on the views."""
    return Entry(f"tvproperties_{name}", (_ACTIVE,), name, doc, short=name, launches=collection)


def _of_module(name, arguments, method, doc, **more):
    """An entry point that the generic procedures of the Fortran module call, with arrays of any shape."""
    return Entry(name, arguments, method, doc, short="", old=False, **more)


FIELDS = Arg("fields", "fields")
SIDE_AND_FIELDS = (Arg("side", "tag"), FIELDS)
CORNERS = (Arg("lo", "corner"), Arg("hi", "corner"))
FIELDS_OF_STRIPE = (
    FIELDS,
    *CORNERS,
    integer("first", "first point of the stripe, 0: 1", -MOST, MOST),
    integer("last", "last point, 0: all", -MOST, MOST),
)
# Arrays of the host, given as lists: the rest of a call that names them in a text.
LISTED_ARRAYS = (
    Arg("addresses", "addresses", "where they lie, in this order, on the host or on the device", dims=("n",)),
    integer("n", "number of arrays", 1, 256),
    Arg(
        "extents",
        "ints",
        "of all arrays, one array after the other, the fastest index first; they have no gaps",
        dims=("m",),
    ),
    integer("m", "number of extents", 0, 4096),
    integer("bytes", "of a number: 8 double precision, 4 single", 1, 16),
)
ENTRIES: tuple[Entry, ...] = (
    Entry(
        "initialize",
        (
            integer("device_id", "device to use; -1: rank on the node modulo the number of devices", -1, 1023),
            integer("nGridPoints", "points in a chunk: the size of the device buffers", 1, CHUNK),
            integer("ns", "number of species", 1, 4096),
            integer("nq", "number of variables in Q", 1, VARIABLES),
            integer("iTurb", "number of the host's turbulence model; any is taken", -MOST, MOST),
        ),
        "initialize",
        "Start the layer. A second call with the same arguments has no effect; with other arguments: status 5. "
        "Collective after setcomm.",
        needs_initialize=False,
        own=True,
        meets=True,
    ),
    Entry(
        "setcomm",
        (integer("fcomm", "the host's communicator: MPI's Fortran integer", -MOST - 1, MOST),),
        "set_communicator",
        "Pass the communicator: device by rank on the node, report over ranks, abort. Before or after initialize; "
        "collective.",
        needs_initialize=False,
        joins="fcomm",
    ),
    Entry(
        "setstream",
        (Arg("stream", "handle", "cudaStream_t as an integer of 64 bits; 0: the default stream"),),
        "set_stream",
        "Queue this thread's copies and launches on the host's CUDA stream. On a CPU nothing happens.",
    ),
    Entry(
        "finalize",
        (),
        "finalize",
        "Free views, device memory and communicators. initialize may follow. Collective after setcomm.",
        needs_initialize=False,
        needs_python=False,
        own=True,
    ),
    Entry(
        "report",
        (),
        "report",
        "Print the timers, by rank and as min, mean, max over the ranks. Collective after setcomm.",
    ),
    Entry(
        "setoption",
        (Arg("tag", "tag", "option"), Arg("value", "text", "its value")),
        "set_option",
        "Before initialize: backend, precision, calls, last_species. Before loadmixture: options of the model, "
        "docs/howto/options.md.",
        needs_initialize=False,
    ),
    Entry(
        "setparameter",
        (Arg("tag", "tag", "parameter"), Arg("value", "double", "its value")),
        "set_parameter",
        "timers, check, queue (0 or 1; queue: see frame_wait); threads (before initialize).",
        needs_initialize=False,
    ),
    Entry(
        "registerkernel",
        (Arg("file", "text", "Python file with the declarations; its headers lie beside it"),),
        "register_kernel",
        "Add the host's own kernels; frame_launch then finds them by name.",
        needs_initialize=False,
    ),
    Entry(
        "setconstant",
        (Arg("tag", "tag", "constant, as the kernels' file declares it"), Arg("value", "double", "its value, SI")),
        "set_constant",
        "A constant: of own kernels, or `gas_constant` [J/mol/K] before the mixture. The module takes an array too.",
        needs_initialize=False,
    ),
    Entry(
        "setconstants",
        (
            Arg("tag", "tag", "constant that is an array"),
            Arg("values", "doubles", "its values, SI", dims=("n",)),
            integer("n", "number of values", 1, VARIABLES),
        ),
        "set_constants",
        "The same for an array.",
        needs_initialize=False,
    ),
    Entry(
        "tvproperties_loadmixture",
        (
            Arg("file", "text", "mixture in Cantera YAML"),
            Arg("phase", "text", "phase; empty: the first one", optional=True),
        ),
        "load_mixture",
        "Read the mixture; its number of species has to be the ns of initialize.",
        short="loadmixture",
    ),
    Entry(
        "tvproperties_populatepreosshareddata",
        (
            integer("ns", "number of species", 1, 4096),
            Arg("W", "doubles", "molar mass [kg/mol]", dims=("ns",)),
            Arg("Tc", "doubles", "critical temperature [K]", dims=("ns",)),
            Arg("pc", "doubles", "critical pressure [Pa]", dims=("ns",)),
            Arg("omega", "doubles", "acentric factor [-]", dims=("ns",)),
            Arg("kij", "doubles", "binary interaction parameters [-], symmetric, zero diagonal", dims=("ns", "ns")),
            Arg("nasa_low", "doubles", "NASA-7 coefficients a1..a7 below T_mid, a species a column", dims=("7", "ns")),
            Arg("nasa_high", "doubles", "the same above T_mid", dims=("7", "ns")),
            Arg("T_mid", "doubles", "where the two polynomials meet [K]", dims=("ns",)),
        ),
        "populate_preos",
        "Pass the host's own species data instead of a file: Peng-Robinson and ideal gas.",
        short="populatepreosshareddata",
    ),
    Entry(
        "tvproperties_populatechungshareddata",
        (
            integer("ns", "number of species", 1, 4096),
            Arg("Vc", "doubles", "critical volume [m3/mol]", dims=("ns",)),
            Arg("dipole", "doubles", "dipole moment [debye]", dims=("ns",)),
            Arg("kappa", "doubles", "Chung's association factor [-]", dims=("ns",)),
            Arg("fuller", "doubles", "Fuller's diffusion volumes [cm3/mol, as tabulated]", dims=("ns",)),
        ),
        "populate_chung",
        "Pass the host's own species data instead of a file: Chung and Fuller (diffusion is then Fuller's). "
        "NaN: unknown.",
        short="populatechungshareddata",
    ),
    Entry(
        "getspecies",
        (
            Arg("tag", "tag", "W Tc pc omega Vc dipole kappa kij nasa_low nasa_high T_mid fuller_volume binary_fit"),
            Arg("buf", "doubles", "the data, SI units", dims=("n",), intent="out"),
            integer("n", "size of buf", 1, CHUNK),
        ),
        "get_species",
        "Copy species data of the mixture in use into the host's array.",
    ),
    Entry(
        "version",
        answered_text("buf", "the version, such as 1.0.0"),
        "version",
        "The version of the layer that the host runs with.",
        needs_initialize=False,
    ),
    Entry(
        "getnumber",
        (
            Arg("tag", "tag", "ns species, nr reactions, nGridPoints points of a chunk, nq variables of Q"),
            Arg("value", "number", "its value"),
        ),
        "get_number",
        "Write a number of the mixture or of initialize into the host's variable.",
    ),
    Entry(
        "getname",
        (
            Arg("tag", "tag", "species or reaction"),
            integer("i", "which, counted from 1", -MOST, MOST),
            *answered_text("buf", "its name in the mixture's file; of a reaction, its equation"),
        ),
        "get_name",
        "Write the name of a species, or the equation of a reaction, into the host's variable.",
    ),
    Entry(
        "getpoint",
        (
            Arg("inTags", "text", "names of the inputs, in the order of their numbers, by commas"),
            Arg("outTags", "text", "names of the outputs, likewise"),
            Arg("function", "function", "f(given, made), for loops of the host"),
        ),
        "get_point",
        "Compile a function of one point for the mixture in use. Any threads may call it; it stays valid to the end.",
    ),
    Entry(
        "castles_populateinputstripe",
        _stripe("in"),
        "populate_input",
        "Copy a stripe of the host's block into a view.",
        short="",
        repeats=True,
        varies=("stripeStart", "stripeEnd"),
    ),
    Entry(
        "castles_populateoutputstripe",
        _stripe("out"),
        "populate_output",
        "Copy a view into a stripe of the host's block; no other point is touched.",
        short="",
        repeats=True,
        varies=("stripeStart", "stripeEnd"),
    ),
    Entry(
        "wait",
        (),
        "wait",
        "Wait for this thread's stripe calls on pinned arrays. With parameter queue they return before they are done.",
    ),
    Entry(
        "launch",
        (Arg("tag", "tag", "kernel or collection"), _ACTIVE),
        "launch",
        "Launch a kernel or a collection by name.",
    ),
    _eos("eosthermalproperties", "thermal", "rho h e cp cv gamma c, derivatives and h0 from T, p, Y."),
    _eos("eosviscousproperties", "viscous", "mu, lam and D from T, p, Y, rho."),
    _eos("eosthermalandviscousproperties", "thermal_viscous", "Thermal and viscous properties in one launch."),
    _eos("eoscriticalstate", "critical_state_of_mixture", "Pseudo-critical state Tc_mix, pc_mix, vc_mix."),
    _eos("eosrhoh0fromtp", "rho_h0_from_T_p", "rho and h0 from T, p, Y, u, v, w."),
    _eos("eosrhohfromtpprop", "rho_h_from_T_p", "rho and h from T, p, Y."),
    _eos(
        "eostfromhp",
        "T_from_h_p",
        "T from h, p, Y, and T_start where populated; unconverged: 0 where T was found, see docs/reference/inputs.md.",
    ),
    _eos("eostfromerho", "T_from_e_rho", "T and p from e, rho, Y, and T_start where populated; unconverged as above."),
    _eos(
        "eosgammajacobianproperties",
        "gamma_jacobian_properties",
        "rho h c rho_p rho_T h_p h_T rho_Y h_Y from T, p, Y.",
    ),
    Entry(
        "castles_block",
        (
            Arg("collection", "tag", "kernel or collection"),
            Arg("inTags", "text", "names of the inputs, separated by commas, in the order in which they lie in inData"),
            Arg("inData", "block", "the host's array (nx, ny, nz, nvIn)"),
            Arg(
                "outTags", "text", "names of the outputs, separated by commas, in the order in which they go to outData"
            ),
            Arg("outData", "block", "the host's array (nx, ny, nz, nvOut)", intent="out"),
            *extents(CELLS),
            *bounds(*_SPACE, most_x=CELLS),
            integer("nvIn", "number of variables of inData", 1, VARIABLES),
            integer("nvOut", "number of variables of outData", 1, VARIABLES),
        ),
        "block",
        "A whole block in one call: the layer runs the chunk loop and computes the named outputs, no others.",
        short="",
        repeats=True,
    ),
    Entry(
        "castles_arrays",
        (
            Arg("collection", "tag", "kernel or collection"),
            Arg(
                "inTags", "text", "names of the inputs by commas; a name that comes several times: an array a variable"
            ),
            Arg("outTags", "text", "names of the outputs, likewise"),
            Arg("addresses", "addresses", "where the arrays of the inputs lie, then those of the outputs", dims=("n",)),
            integer("n", "number of arrays", 1, 4096),
            *extents(CELLS),
            *bounds(*_SPACE, most_x=CELLS),
        ),
        "block_of_arrays",
        "A whole block in one call, with an array (nx, ny, nz[, variables]) for each name: species may lie apart.",
        short="",
        repeats=True,
    ),
    Entry(
        "castles_react",
        (
            Arg("kind", "tag", "volume or pressure: what stays constant"),
            Arg("tags", "text", "names by commas: T, p and Y, which are updated; status, steps and dt if wanted"),
            Arg("addresses", "addresses", "where their arrays lie, in this order", dims=("n",)),
            integer("n", "number of arrays", 1, 4096),
            Arg("dt", "double", "time of the step [s]; 0 if there is an array dt"),
            *extents(CELLS),
            *bounds(*_SPACE, most_x=CELLS),
        ),
        "react_arrays",
        "Every point of a block a closed adiabatic reactor over dt, in place. Arrays as in castles_arrays.",
        short="",
        repeats=True,
        varies=("dt",),
    ),
    Entry(
        "pin",
        (Arg("data", "address", "the host's array, double precision"), integer("n", "number of its values", 0)),
        "pin",
        "Name an array that is copied often: on a GPU its memory is pinned, so that copies run at the link's speed; "
        "elsewhere nothing happens. It must not be freed before unpin or finalize.",
        short="",
    ),
    Entry(
        "unpin",
        (Arg("data", "address", "the array given to pin"), integer("n", "number of its values", 0)),
        "unpin",
        "Undo pin, before the array is freed or moved.",
        short="",
    ),
    Entry(
        "allocate",
        (
            Arg("bytes", "handle", "how many"),
            Arg("address", "place", "where they lie"),
        ),
        "allocate",
        "Memory where kernels work, until deallocate: a GPU's, or the host's. The module takes arrays: (u, [n, m]).",
    ),
    Entry(
        "deallocate",
        (Arg("address", "pointer", "as allocate gave it", intent="inout"),),
        "deallocate",
        "Undo allocate. The module takes arrays too.",
    ),
    Entry(
        "copy",
        (
            Arg("to", "pointer", "where the bytes go, on the host or on the device", intent="out"),
            Arg("source", "pointer", "where they lie, on the host or on the device"),
            Arg("bytes", "handle", "how many"),
        ),
        "copy",
        "Copy memory behind the queued work, and wait. The module copies arrays, too: (to, source).",
    ),
    Entry(
        "registercontraction",
        (
            Arg("tag", "tag", "its name"),
            Arg("text", "lines", "statements over named indices, as in 'w(i,e) = D(i,l) u(l,e); constant D'"),
        ),
        "register_contraction",
        "Name a tensor expression; frame_contract then evaluates it. Language: docs/howto/tensor_expressions.md.",
        needs_initialize=False,
    ),
    Entry(
        "contract",
        (
            Arg("tag", "tag", "a registered name, or one of Intrepid's nine"),
            Arg("names", "text", "names of all arrays of the text, separated by commas"),
            *LISTED_ARRAYS,
        ),
        "contract_arrays",
        "Evaluate a tensor expression on the host's arrays. What the text adds to (+=) is read too.",
        short="",
        repeats=True,
    ),
    Entry(
        "team",
        (
            Arg("tag", "tag", "name of a team kernel of the host's own"),
            Arg("names", "text", "names of its arrays and sums, separated by commas"),
            *LISTED_ARRAYS,
        ),
        "team_arrays",
        "Run a team kernel on the host's arrays. The declaration of the kernel says which arrays it writes.",
        short="",
        repeats=True,
    ),
    # Called by the generic procedures of the Fortran module.
    _of_module(
        "put", FIELDS_OF_STRIPE, "put", "populateinputstripe for any array.", repeats=True, varies=("first", "last")
    ),
    _of_module(
        "get", FIELDS_OF_STRIPE, "get", "populateoutputstripe for any array.", repeats=True, varies=("first", "last")
    ),
    _of_module(
        "block",
        (Arg("collection", "tag"), FIELDS, *CORNERS),
        "block_of_fields",
        "All inputs, all outputs and a collection at once.",
        repeats=True,
    ),
    _of_module(
        "contract_fields",
        (Arg("tag", "tag"), FIELDS),
        "contract",
        "contract for arrays with their extents.",
        repeats=True,
    ),
    _of_module(
        "react_fields",
        (Arg("kind", "tag"), FIELDS, Arg("dt", "double"), *CORNERS),
        "react",
        "Every point of a block a closed adiabatic reactor over dt, in place.",
        repeats=True,
        varies=("dt",),
    ),
    _of_module("pair_fields", (FIELDS,), "pair", "Keep a copy of arrays where kernels work."),
    _of_module("unpair_fields", (FIELDS,), "unpair", "Undo pair."),
    _of_module("modify_fields", SIDE_AND_FIELDS, "modify", "A side of paired arrays was written."),
    _of_module("sync_fields", SIDE_AND_FIELDS, "sync", "Bring a side of paired arrays up to date."),
    _of_module(
        "needsync_fields",
        (*SIDE_AND_FIELDS, Arg("behind", "number", "how many arrays are behind")),
        "need_sync",
        "How many of these arrays are behind on a side.",
    ),
    _of_module("copy_fields", (FIELDS,), "copy_fields", "copy for arrays: where it goes, where it lies."),
    _of_module("pin_array", (FIELDS,), "pin_array", "pin for any array."),
    _of_module("unpin_array", (FIELDS,), "unpin_array", "unpin for any array."),
)
